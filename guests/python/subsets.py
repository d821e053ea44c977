"""Subsets of packages that programs import most: found where no package and no server has the name."""

import sys
import types
from importlib.machinery import ModuleSpec

MODULES = {}


def add(name, /, **members):
    """A module that can be imported from now on."""
    module = MODULES[name] = types.ModuleType(name, f"A subset of {name.partition('.')[0]}.")
    module.__dict__.update(members)


class SubsetFinder:
    """Finds these modules. It is asked last."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        top = name.partition(".")[0]
        if name not in MODULES or top != name and sys.modules.get(top) is not MODULES[top]:
            return None  # a package has its own modules only
        return ModuleSpec(name, SubsetFinder, is_package=hasattr(MODULES[name], "__path__"))

    @staticmethod
    def create_module(spec):
        return MODULES[spec.name]

    @staticmethod
    def exec_module(module):
        pass


def install():
    sys.meta_path.append(SubsetFinder)
