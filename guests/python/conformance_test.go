package python_test

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
)

//go:embed testdata/conformance-baseline.txt
var conformanceBaseline string

// The modules of CPython's own test suite that run in the guest. The first few
// are the short set.
var conformanceModules = strings.Fields(`
	test_json test_list test_set test_string test_textwrap test_heapq test_bisect test_fractions
	test_dict test_tuple test_bool test_int test_float test_complex test_long test_math test_cmath test_statistics
	test_str test_bytes test_format test_unicodedata test_re test_difflib test_html
	test_itertools test_functools test_collections test_operator test_enumerate test_range test_slice test_sort
	test_generators test_genexps test_coroutines test_asyncgen test_iter test_listcomps test_setcomps test_dictcomps
	test_dataclasses test_enum test_typing test_abc test_descr test_class test_super test_property test_decorators
	test_exceptions test_baseexception test_exception_group test_raise test_syntax test_patma test_scope test_grammar
	test_named_expressions test_positional_only_arg test_keywordonlyarg test_unpack test_unpack_ex test_with test_augassign
	test_contextlib test_contextlib_async test_copy test_copyreg test_pickle test_weakref test_weakset
	test_csv test_struct test_random test_base64 test_binascii test_hashlib test_hmac test_uuid test_zlib test_bz2 
	test_ast test_xml_etree test_zoneinfo test_io test_memoryio test_stringprep
	test_urlparse test_htmlparser test_datetime test_calendar test_strptime test_time test_decimal test_numeric_tower
	test_argparse test_configparser test_tomllib test_shlex test_fnmatch test_pprint test_reprlib test_ipaddress
	test_deque test_defaultdict test_userdict test_userlist test_userstring test_array test_memoryview 
	test_graphlib test_colorsys test_quopri test_sqlite3 test_ordered_dict test_types
	test_traceback test_pathlib test_inspect test_fstring test_queue test_opcache
	test_glob test_tempfile test_gzip test_linecache test_keyword test_cmd test_sched
	test_string_literals test_codecs test_unicode_identifiers test_type_params test_type_aliases test_funcattrs
	test_zipfile test_posixpath test_shutil test_genericpath test_tarfile test_shelve test_plistlib
	test_asyncio.test_tasks test_asyncio.test_futures test_asyncio.test_queues test_asyncio.test_locks
	test_asyncio.test_taskgroups test_asyncio.test_timeouts test_asyncio.test_waitfor test_asyncio.test_runners
	test_asyncio.test_context test_asyncio.test_pep492 test_asyncio.test_staggered test_asyncio.test_threads
	test_context test_yield_from test_builtin test_isinstance test_metaclass test_genericalias test_dictviews
	test_minidom test_sax test_pyexpat test_http_cookies test_mimetypes test_secrets
	test_optparse test_getopt test_strftime test_strtod test_tokenize test_unparse test_email test_email.test_message
	test_index test_pow test_print test_extcall test_global test_compare test_contains test_binop
	test___all__ test__colorize test__locale test__opcode test_abstract_numbers test_asyncio.test_base_events
	test_asyncio.test_eager_task_factory test_asyncio.test_futures2 test_asyncio.test_protocols test_asyncio.test_streams
	test_asyncio.test_transports test_bdb test_bigmem test_bufio test_charmapcodec test_code test_code_module
	test_codeccallbacks test_codecencodings_cn test_codecencodings_hk test_codecencodings_iso2022 test_codecencodings_jp
	test_codecencodings_kr test_codecencodings_tw test_codeop test_compile test_cprofile test_dbm test_dbm_dumb
	test_dbm_sqlite3 test_descrtut test_dis test_doctest.test_doctest test_doctest.test_doctest2 test_dynamic
	test_dynamicclassattribute test_eof test_errno test_except_star test_exception_hierarchy test_exception_variations
	test_file test_filecmp test_fileinput test_fileio test_flufl test_frame test_future_stmt.test_future
	test_future_stmt.test_future_flags test_future_stmt.test_future_multiple_features
	test_future_stmt.test_future_multiple_imports test_future_stmt.test_future_single_import test_generator_stop
	test_genericclass test_getpass test_gettext test_hash test_http_cookiejar test_httplib test_importlib.test_abc
	test_importlib.test_api test_importlib.test_lazy test_importlib.test_locks test_importlib.test_namespace_pkgs
	test_importlib.test_pkg_import test_importlib.test_spec test_importlib.test_util test_int_literal test_iterlen
	test_locale test_logging test_longexp test_mailbox test_marshal test_module test_modulefinder test_monitoring test_multibytecodec
	test_netrc test_ntpath test_opcodes test_os test_pdb test_peepholer test_pep646_syntax test_picklebuffer
	test_pickletools test_pkg test_pkgutil test_platform test_posix test_profile test_pstats test_pulldom test_py_compile
	test_pyclbr test_pydoc.test_pydoc test_richcmp test_rlcompleter test_robotparser test_runpy test_script_helper
	test_signal test_source_encoding test_stat test_structseq test_subclassinit test_sundry test_symtable test_sys
	test_sys_setprofile test_sys_settrace test_tabnanny test_threading test_threading_local test_timeit test_trace
	test_type_annotations test_type_cache test_type_comments test_typechecks test_ucn test_unary test_unicode_file
	test_unicode_file_functions test_unittest.test_assertions test_unittest.test_async_case test_unittest.test_case
	test_unittest.test_discovery test_unittest.test_functiontestcase test_unittest.test_loader test_unittest.test_program
	test_unittest.test_result test_unittest.test_runner test_unittest.test_setups test_unittest.test_skipping
	test_unittest.test_suite test_unittest.test_util test_univnewlines test_urllib test_urllib2 test_utf8source test_warnings test_wave
	test_xml_dom_minicompat test_xml_dom_xmlbuilder test_xml_etree_c test_zipapp test_zipimport
`)

const shortConformance = 8

const conformanceProgram = `
import sys, unittest, io, os
sys.path.append("/packages")
sys.setrecursionlimit(1000)
import test.support as support
support.use_resources = []
# Run what can run in line: tests that need more are in the baseline one by one.
support.has_socket_support = support.has_subprocess_support = True
from test.support import socket_helper
socket_helper.has_gethostname = True

CONSTANTS = {"Py_C_RECURSION_LIMIT": 500, "INT_MAX": 2**31 - 1, "INT_MIN": -2**31, "UINT_MAX": 2**32 - 1, "LONG_MAX": 2**31 - 1,
             "LONG_MIN": -2**31, "ULONG_MAX": 2**32 - 1, "LLONG_MAX": 2**63 - 1, "LLONG_MIN": -2**63, "ULLONG_MAX": 2**64 - 1,
             "PY_SSIZE_T_MAX": 2**31 - 1, "PY_SSIZE_T_MIN": -2**31, "SIZE_MAX": 2**32 - 1, "SHRT_MAX": 32767, "SHRT_MIN": -32768,
             "USHRT_MAX": 65535, "UCHAR_MAX": 255, "CHAR_MAX": 127, "CHAR_MIN": -128, "SIZEOF_TIME_T": 8,
             "SIZEOF_PYGC_HEAD": 8, "SIZEOF_MANAGED_PRE_HEADER": 8}

class Absent(type(sys)):
    "Extension modules for tests only, which are not built: what needs them is skipped."
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        if name in CONSTANTS:
            return CONSTANTS[name]
        def skip(*args, **kwargs):
            raise unittest.SkipTest(self.__name__)
        return skip

# There are no threads: a test that starts one is skipped, its neighbours run.
from test.support import threading_helper
import threading

def no_thread(self):
    raise unittest.SkipTest("starts a thread")

threading.Thread.start = no_thread
threading_helper.can_start_thread = True

class Unserved(type(sys)):
    "Modules of servers, which are not here: their classes can be named and derived from."
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        made = type(name, (), {})
        setattr(self, name, made)
        return made

for name in ("socketserver", "http.server", "wsgiref.simple_server"):
    sys.modules.setdefault(name, Unserved(name))

for name in ("_testcapi", "_testinternalcapi", "_testlimitedcapi", "_testbuffer", "_testmultiphase", "_testsinglephase", "_testclinic"):
    sys.modules[name] = Absent(name)

def recursion_depth():
    frame, depth = sys._getframe(1), 0
    while frame is not None:
        frame, depth = frame.f_back, depth + 1
    return depth

# What test.support asks when a module of tests is loaded.
asked = sys.modules["_testinternalcapi"]
asked.get_config = lambda: {"code_debug_ranges": True}
asked.get_immortalize_deferred = lambda: False
asked.suppress_immortalization = lambda on: None
asked.get_recursion_depth = recursion_depth
os.environ["HOME"] = "/tmp"
os.chdir("/tmp")
out = io.StringIO()

class Result(unittest.TextTestResult):
    "Takes away what a test left behind in its folder, so that it alone fails."
    def startTest(self, test):
        self.before = set(os.listdir("/tmp"))
        super().startTest(test)

    def stopTest(self, test):
        super().stopTest(test)
        os.chdir("/tmp")
        for name in os.listdir():
            if name.startswith("@test") and name not in self.before:
                remove(name)

def remove(name):
    if os.path.isdir(name) and not os.path.islink(name):
        os.chmod(name, 0o700)
        for inner in os.listdir(name):
            remove(os.path.join(name, inner))
        os.rmdir(name)
    else:
        os.unlink(name)

suite = unittest.defaultTestLoader.loadTestsFromName("test." + args["module"])

def without(suite, names):
    "The suite without the tests that the baseline leaves out."
    kept = [without(t, names) if isinstance(t, unittest.TestSuite) else t for t in suite]
    return type(suite)(t for t in kept if isinstance(t, unittest.TestSuite) or t.id().removeprefix("test.") not in names)

if args["left_out"]:
    suite = without(suite, args["left_out"])
result = unittest.TextTestRunner(stream=out, verbosity=0, resultclass=Result).run(suite)
bad = [(t.id(), text) for kind in (result.failures, result.errors) for t, text in kind]
bad += [(t.id(), "unexpected success") for t in result.unexpectedSuccesses]
return {"run": result.testsRun, "skipped": len(result.skipped),
        "bad": sorted([i, text.strip().splitlines()[-1][:200]] for i, text in bad)}
`

// conformance runs one module without some of its tests and gives those that
// failed, with the last line of each.
func conformance(t *testing.T, top, module string, leftOut []string) (run int, bad [][2]string, ended string) {
	h := &host{input: input(conformanceProgram), top: top, fuel: 4_000_000}
	h.input["args"] = map[string]any{"module": module, "left_out": leftOut}
	if err := newGuest(t, h).run(); err != nil {
		return 0, nil, err.Error()
	}
	if h.kind != outcomeValue {
		return 0, nil, string(h.document)
	}
	var result struct {
		Run, Skipped int
		Bad          [][2]string
	}
	if err := json.Unmarshal(h.document, &result); err != nil {
		t.Fatal(err)
	}
	return result.Run - result.Skipped, result.Bad, ""
}

// plainID is a test's name without what changes from run to run.
func plainID(id string) string {
	head, _, _ := strings.Cut(id, " ")
	return strings.TrimPrefix(head, "test.")
}

// testModules are the names of all modules of the suite.
func testModules(t *testing.T, folder string) iter.Seq[string] {
	files, err := filepath.Glob(filepath.Join(folder, "test_*.py"))
	if err != nil {
		t.Fatal(err)
	}
	inside, err := filepath.Glob(filepath.Join(folder, "test_*", "test_*.py"))
	if err != nil {
		t.Fatal(err)
	}
	return func(yield func(string) bool) {
		for _, file := range append(files, inside...) {
			name := strings.TrimSuffix(strings.TrimPrefix(file, folder+string(filepath.Separator)), ".py")
			if !yield(strings.ReplaceAll(name, string(filepath.Separator), ".")) {
				return
			}
		}
	}
}

func TestPythonsOwnTestsPass(t *testing.T) {
	folder, err := filepath.Abs(filepath.Join("..", "..", "work", "cpython", "testsuite"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(folder, "test", "support")); err != nil {
		t.Skip("needs the CPython test suite: run wasm-modules/cpython/build.sh fetch unpack testsuite")
	}
	tops := make(chan string, runtime.GOMAXPROCS(0)) // one for each module that runs at a time
	for range cap(tops) {
		top := t.TempDir()
		if err := os.CopyFS(filepath.Join(top, "packages"), os.DirFS(folder)); err != nil {
			t.Fatal(err)
		}
		tops <- top
	}
	known := baseline(conformanceBaseline)
	modules := slices.Compact(slices.Sorted(slices.Values(conformanceModules)))
	if os.Getenv("WEXEC_CONFORMANCE") == "" {
		modules = conformanceModules[:shortConformance]
		if testing.Short() {
			modules = modules[:1]
		}
	} else if len(modules) < 60 {
		t.Fatalf("only %d modules", len(modules))
	}
	failing := map[string]bool{}
	leftOut := []string{} // what would never end; the rest of its module runs
	for id, reason := range known {
		if strings.HasPrefix(reason, "left out: ") {
			leftOut = append(leftOut, id)
			failing[id] = true
		}
		if strings.HasPrefix(reason, "not run: ") {
			failing[id] = true
		}
	}
	for name := range testModules(t, filepath.Join(folder, "test")) {
		parent, _, _ := strings.Cut(name, ".")
		runs := slices.Contains(conformanceModules, name) || slices.Contains(conformanceModules, parent)
		reason := cmp.Or(known[name], known[parent])
		if notRun := strings.HasPrefix(reason, "not run: "); runs == notRun {
			t.Errorf("%s: runs %v, and the baseline says %q", name, runs, reason)
		}
	}
	var mu sync.Mutex
	total := 0
	one := func(t *testing.T, module string) {
		t.Parallel()
		top := <-tops
		defer func() { tops <- top }()
		run, bad, ended := conformance(t, top, module, leftOut)
		mu.Lock()
		defer mu.Unlock()
		if ended != "" {
			if known[module] == "" {
				t.Errorf("BASELINE %s: %.300s", module, ended)
			}
			failing[module] = true
			return
		}
		total += run
		if run == 0 && known[module] == "" {
			t.Errorf("BASELINE %s: no test ran", module)
		}
		seen := map[string]bool{}
		for _, b := range bad {
			id := plainID(b[0])
			failing[id] = true
			if known[id] == "" && !seen[id] {
				t.Errorf("BASELINE %s: %s", id, b[1])
			}
			seen[id] = true
		}
	}
	t.Run("modules", func(t *testing.T) {
		for _, module := range modules {
			t.Run(module, func(t *testing.T) { one(t, module) })
		}
	})
	t.Logf("%d tests of %d modules ran; %d are in the baseline", total, len(modules), len(known))
	if os.Getenv("WEXEC_CONFORMANCE") != "" {
		for id := range known {
			if !failing[id] {
				t.Errorf("%s passes: take it out of the baseline", id)
			}
		}
	}
}
