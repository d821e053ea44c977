# Task: the features in config.yaml
# Want: ["search","cart"]
import yaml

config = yaml.safe_load(tools.github.get_file_contents(owner="acme", repo="shop", path="config.yaml"))
config["features"]
