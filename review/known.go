package review

import (
	"slices"
	"strings"

	"github.com/wexec/wexec/catalogue"
)

// effect is what a function of the languages' libraries does that matters to a rule.
type effect uint8

const (
	noEffect     effect = iota
	runsCode            // runs text as code
	unpacks             // reads an object that may run code
	runsCommand         // starts a process
	usesFile            // takes a path
	removesFiles        // takes a path of a folder that it removes
	sends               // takes a URL or a host
	escapes             // reaches the inside of the interpreter
)

// effectOf returns the effect of a call of a path.
func effectOf(path string, python bool) effect {
	switch path {
	case "eval", "exec", "compile", "execfile":
		if path == "eval" || python {
			return runsCode
		}
	case "Function", "AsyncFunction", "GeneratorFunction", "execScript", "importScripts":
		if !python {
			return runsCode
		}
	case "vm.runInThisContext", "vm.runInNewContext", "vm.runInContext", "vm.Script", "vm.compileFunction", "module._compile",
		"runpy.run_path", "runpy.run_module", "runpy._run_code", "types.FunctionType", "types.CodeType", "marshal.loads", "marshal.load",
		"code.InteractiveInterpreter().runsource", "code.interact", "code.InteractiveConsole().push", "codeop.compile_command", "timeit.timeit", "timeit.exec":
		return runsCode
	case "pickle.loads", "pickle.load", "dill.loads", "_pickle.loads", "cPickle.loads", "cloudpickle.loads", "jsonpickle.decode", "yaml.unsafe_load", "joblib.load", "v8.deserialize":
		return unpacks
	case "os.system", "os.popen", "os.fork", "os.forkpty", "os.startfile", "os.posix_spawn", "os.posix_spawnp", "pty.spawn", "os.kill", "os.killpg",
		"commands.getoutput", "commands.getstatusoutput", "asyncio.create_subprocess_exec", "asyncio.create_subprocess_shell", "posix.system",
		"Deno.run", "Deno.Command", "Bun.spawn", "Bun.spawnSync", "execa", "shelljs.exec", "popen2.popen2", "pexpect.spawn", "platform.popen", "process.kill", "cluster.fork":
		return runsCommand
	case "shutil.rmtree", "fs.rm", "fs.rmSync", "fs.rmdir", "fs.rmdirSync", "os.removedirs", "Deno.remove":
		return removesFiles
	case "open", "io.open", "os.open", "codecs.open", "Path", "pathlib.Path", "pathlib.PurePath", "os.remove", "os.unlink", "os.rmdir", "os.rename", "os.replace", "os.chmod", "os.chown",
		"os.listdir", "os.scandir", "os.walk", "os.symlink", "os.link", "os.path.join", "path.join", "path.resolve", "glob.glob", "linecache.getlines", "fileinput.input", "os.chdir", "process.chdir",
		"os.makedirs", "os.mkdir", "pathlib.Path.home", "zipfile.ZipFile", "tarfile.open", "sqlite3.connect", "importlib.machinery.SourceFileLoader", "os.path.expanduser":
		return usesFile
	case "fetch", "XMLHttpRequest().open", "WebSocket", "EventSource", "navigator.sendBeacon", "axios", "got", "node-fetch", "undici", "superagent", "ky",
		"socket.create_connection", "socket.socket().connect", "socket.socket().sendto", "socket.gethostbyname", "socket.getaddrinfo", "net.connect", "net.createConnection", "tls.connect",
		"urllib.request.urlopen", "urllib.request.Request", "urllib.request.urlretrieve", "http.client.HTTPSConnection", "http.client.HTTPConnection", "smtplib.SMTP", "smtplib.SMTP_SSL",
		"ftplib.FTP", "telnetlib.Telnet", "webbrowser.open", "websockets.connect", "websocket.create_connection", "net.Socket().connect", "urlopen", "dgram.createSocket().send":
		return sends
	case "sys._getframe", "sys.settrace", "sys.setprofile", "gc.get_objects", "gc.get_referrers", "process.binding", "process._linkedBinding", "process.dlopen", "inspect.currentframe", "inspect.stack",
		"os.setuid", "os.setgid", "os.chroot", "os.ptrace", "os.unshare", "vm.createContext", "v8.setFlagsFromString", "process.setuid", "process.reallyExit", "sys.addaudithook",
		"WebAssembly.instantiate", "WebAssembly.compile", "WebAssembly.Module", "WebAssembly.Instance", "inspector.Session", "inspector.open", "Object.setPrototypeOf().constructor", "repl.start":
		return escapes
	}
	first, rest, _ := strings.Cut(path, ".")
	switch first {
	case "subprocess", "child_process", "pexpect":
		switch rest {
		case "PIPE", "DEVNULL", "STDOUT", "CalledProcessError", "TimeoutExpired", "list2cmdline":
			return noEffect
		}
		return one(rest != "" && !strings.Contains(rest, "()"), runsCommand)
	case "os":
		return one(strings.HasPrefix(rest, "exec") || strings.HasPrefix(rest, "spawn"), runsCommand)
	case "axios", "requests", "httpx", "got", "undici", "superagent", "aiohttp", "http", "https", "dns", "urllib3", "ky", "http2", "paramiko":
		method := path[strings.LastIndexByte(path, '.')+1:]
		switch strings.TrimSuffix(method, "()") {
		case "get", "post", "put", "patch", "delete", "request", "head", "options", "stream", "resolve", "lookup", "send", "connect", "resolveTxt", "resolve4", "urlopen", "ws_connect", "fetch":
			return sends
		}
	case "fs", "Deno", "fsp":
		return one(rest != "" && rest != "constants", usesFile)
	case "ctypes", "cffi", "_ctypes", "mmap", "bun:ffi", "ffi-napi", "ffi":
		return one(rest != "", escapes)
	}
	if strings.HasPrefix(path, "socket.socket().send") || strings.HasSuffix(path, ".sendBeacon") || strings.HasPrefix(path, "net.Socket().") {
		return sends
	}
	return noEffect
}

func one(ok bool, e effect) effect {
	if ok {
		return e
	}
	return noEffect
}

// moduleKind says what a module is for: files, network, processes, or "".
func moduleKind(name string) string {
	first, _, _ := strings.Cut(name, ".")
	switch first {
	case "os", "io", "shutil", "pathlib", "glob", "tempfile", "fs", "fileinput", "zipfile", "tarfile", "sqlite3":
		return "files"
	case "socket", "ssl", "requests", "urllib", "http", "https", "http2", "net", "tls", "dgram", "dns", "httpx", "aiohttp", "ftplib", "smtplib", "telnetlib", "axios", "undici", "node-fetch", "paramiko", "websockets":
		return "the network"
	case "subprocess", "child_process", "multiprocessing", "pty", "signal", "cluster", "worker_threads", "process", "vm":
		return "processes"
	}
	return ""
}

// insideName reports whether a property is a way to the inside of the interpreter.
func insideName(name string) bool {
	switch name {
	case "__subclasses__", "__globals__", "__builtins__", "__bases__", "__base__", "__closure__", "__code__", "__func__", "__self__", "__loader__", "__import__",
		"__reduce__", "__reduce_ex__", "f_globals", "f_builtins", "f_locals", "f_back", "f_code", "gi_frame", "gi_code", "cr_frame", "ag_frame", "tb_frame", "tb_next", "co_code", "co_consts",
		"func_globals", "mainModule", "prepareStackTrace", "_load", "__defineGetter__", "__lookupGetter__", "__defineSetter__":
		return true
	}
	return false
}

// sensitivePath returns what is behind a path that programs have no business with, or
// "".
func sensitivePath(path string) string {
	s := strings.ToLower(strings.ReplaceAll(path, `\`, "/"))
	for _, c := range [...]struct{ part, what string }{
		{"/etc/passwd", "a system file"}, {"/etc/shadow", "a system file"}, {"/etc/sudoers", "a system file"}, {"/etc/ssh", "a system file"}, {"/etc/hosts", "a system file"}, {"/etc/cron", "a system file"},
		{"/etc/ld.so", "a system file"}, {"/proc/", "the kernel's view of processes"}, {"/sys/", "the kernel"}, {"/dev/mem", "memory"}, {"/dev/kmem", "memory"}, {"/dev/sd", "a disk"}, {"/dev/nvme", "a disk"},
		{".ssh/", "SSH keys"}, {"id_rsa", "SSH keys"}, {"id_ed25519", "SSH keys"}, {".aws/", "credentials"}, {".kube/config", "credentials"}, {".docker/config", "credentials"}, {".netrc", "credentials"},
		{".git-credentials", "credentials"}, {".npmrc", "credentials"}, {".pypirc", "credentials"}, {"gcloud/", "credentials"}, {".azure/", "credentials"}, {".gnupg", "keys"}, {"docker.sock", "the container engine"},
		{"/var/run/secrets", "credentials"}, {"/run/secrets", "credentials"}, {".bash_history", "a shell's history"}, {".zsh_history", "a shell's history"}, {".bashrc", "a shell's start"}, {".zshrc", "a shell's start"}, {".profile", "a shell's start"},
		{"authorized_keys", "SSH keys"}, {"windows/system32", "a system file"}, {"login data", "a browser's passwords"}, {"cookies.sqlite", "a browser's cookies"}, {"/root/", "the administrator's files"}, {"wallet.dat", "a wallet"},
		{"seal.key", "the server's key"}, {"/.config/wexec", "settings of the sandbox"}, {"/wexec/policy", "settings of the sandbox"}, {"/var/log/", "system logs"}, {".git/hooks/", "commands that git runs"}, {"keychain", "credentials"},
	} {
		if strings.Contains(s, c.part) {
			return c.what
		}
	}
	if s == "/dev/sda" || s == "/etc" || s == "~" || strings.HasSuffix(s, "/.env") || s == ".env" || strings.HasSuffix(s, "/.ssh") || strings.HasSuffix(s, "/.aws") {
		return "credentials or system files"
	}
	return ""
}

// destructiveCommand returns what a command or an SQL statement destroys, or "".
func destructiveCommand(s string) string {
	s = strings.ToLower(strings.Join(strings.Fields(s[:min(len(s), 8<<10)]), " "))
	words := " " + strings.NewReplacer("--", "-", ";", " ; ", "|", " | ", "&", " & ", "(", " ", ")", " ", "`", " ", `"`, " ", "'", " ").Replace(s) + " "
	words = strings.Join(strings.Fields(words), " ")
	for _, c := range [...]struct{ part, what string }{
		{"rm -rf", "deletes a folder"}, {"rm -fr", "deletes a folder"}, {"rm -r ", "deletes a folder"}, {"rm -recursive", "deletes a folder"}, {"rm -f -r", "deletes a folder"}, {"rm -r -f", "deletes a folder"}, {"-no-preserve-root", "deletes a folder"},
		{"mkfs", "formats a disk"}, {"wipefs", "formats a disk"}, {"of=/dev/", "writes over a disk"}, {"> /dev/sd", "writes over a disk"}, {"shred ", "writes over files"}, {"format c:", "formats a disk"}, {"fdisk", "changes partitions"},
		{"del /s", "deletes a folder"}, {"del /f", "deletes files"}, {"rd /s", "deletes a folder"}, {"rmdir /s", "deletes a folder"}, {"remove-item -recurse", "deletes a folder"}, {"remove-item -force", "deletes files"}, {"find / -delete", "deletes files"}, {"-exec rm", "deletes files"}, {" -delete", "deletes files"},
		{"shutdown", "stops the machine"}, {"reboot", "stops the machine"}, {"init 0", "stops the machine"}, {"poweroff", "stops the machine"}, {"halt ", "stops the machine"}, {": | : &", "starts processes without end"}, {":|:", "starts processes without end"},
		{"chmod -r 777", "gives everybody access"}, {"chmod 777 /", "gives everybody access"}, {"chmod -r 000", "takes access away"}, {"chown -r", "changes owners"}, {"kill -9 -1", "ends all processes"}, {"killall", "ends processes"}, {"pkill", "ends processes"},
		{"git push -force", "replaces history"}, {"git push -f", "replaces history"}, {"push origin -delete", "deletes branches"}, {"push -mirror", "replaces history"}, {"git reset -hard", "discards changes"}, {"git clean -fd", "deletes files"}, {"git branch -d", "deletes branches"}, {"kubectl delete", "deletes resources"}, {"terraform destroy", "deletes resources"}, {"docker rm", "deletes containers"}, {"docker system prune", "deletes containers"}, {"helm uninstall", "deletes resources"}, {"aws s3 rb", "deletes a bucket"}, {"aws s3 rm", "deletes objects"},
		{"crontab -r", "deletes jobs"}, {"iptables -f", "removes the firewall"}, {"ufw disable", "removes the firewall"}, {"userdel", "deletes users"}, {"history -c", "removes traces"}, {"systemctl stop", "stops services"}, {"setenforce 0", "removes protection"}, {"vssadmin delete", "deletes backups"}, {"cipher /w", "writes over files"},
		{"| sh", "runs what it downloads"}, {"| bash", "runs what it downloads"}, {"| python", "runs what it downloads"}, {"/dev/tcp/", "opens a shell to another machine"}, {"nc -e", "opens a shell to another machine"}, {"ncat -e", "opens a shell to another machine"}, {"bash -i", "opens a shell to another machine"}, {"mkfifo", "opens a shell to another machine"},
	} {
		if strings.Contains(words, c.part) {
			return c.what
		}
	}
	return destructiveSQL(words)
}

// destructiveSQL returns what a statement destroys, or "".
func destructiveSQL(s string) string {
	s = strings.TrimSuffix(strings.TrimSpace(s), ";")
	for statement := range strings.SplitSeq(s, ";") {
		statement = strings.TrimSpace(statement)
		where := strings.Contains(statement, " where ")
		if i := strings.Index(statement, " where "); i >= 0 {
			c := strings.ReplaceAll(statement[i+7:], " ", "")
			where = c != "1=1" && c != "true" && c != "1" && !strings.HasPrefix(c, "1=1or") && !strings.HasSuffix(c, "or1=1")
		}
		for _, c := range [...]struct {
			start, what string
			always      bool
		}{
			{"drop table", "drops a table", true}, {"drop database", "drops a database", true}, {"drop schema", "drops a schema", true}, {"drop view", "drops a view", true}, {"drop user", "drops a user", true}, {"drop index", "drops an index", true},
			{"truncate ", "empties a table", true}, {"alter table", "changes a table", strings.Contains(statement, " drop ")}, {"delete from", "deletes all rows", !where}, {"update ", "changes all rows", !where && strings.Contains(statement, " set ")},
			{"flushall", "empties the database", true}, {"grant all", "grants all rights", true}, {"db.dropdatabase", "drops a database", true},
		} {
			if c.always && strings.HasPrefix(statement, c.start) {
				return c.what
			}
		}
	}
	return ""
}

// harmlessCommand reports whether a command only shows something ordinary.
func harmlessCommand(s string) bool {
	if strings.ContainsAny(s, ";|&`$><\n") {
		return false
	}
	fields := strings.Fields(s)
	if len(fields) == 0 || sensitivePath(s) != "" {
		return false
	}
	switch fields[0] {
	case "ls", "pwd", "echo", "date", "true", "whoami", "uname", "wc", "sort", "which":
		return true
	case "python", "python3", "node", "npm", "go", "pip":
		return len(fields) == 2 && strings.Contains(fields[1], "version")
	case "git":
		return len(fields) > 1 && (fields[1] == "log" || fields[1] == "status" || fields[1] == "diff" || fields[1] == "show" || fields[1] == "rev-parse" || fields[1] == "branch")
	}
	return false
}

// deletes reports whether the name of a tool says that it deletes something for good.
func deletes(name string) bool {
	for _, w := range catalogue.Words(name) {
		switch w {
		case "delete", "destroy", "drop", "erase", "kill", "prune", "purge", "rm", "remove", "revoke", "terminate", "truncate", "uninstall", "wipe", "reset", "deactivate", "disable":
			return true
		}
	}
	return false
}

// personal reports whether the name of a tool says that it gives data about people.
func personal(name string) bool {
	for _, w := range catalogue.Words(name) {
		switch strings.TrimSuffix(w, "s") {
		case "customer", "user", "contact", "employee", "patient", "member", "people", "person", "profile", "account", "email", "mail", "message", "inbox", "salary", "salarie", "payroll", "payment", "card",
			"ssn", "addresse", "address", "phone", "medical", "health", "record", "personal", "hr", "crm", "gmail", "lead", "subscriber", "applicant", "candidate", "tax", "bank", "transaction", "invoice", "passport", "conversation", "chat", "dm", "document", "note":
			return true
		}
	}
	return secretive(name)
}

// holdsContents reports whether the name of a tool says that it gives what is in a file.
func holdsContents(name string) bool {
	words := catalogue.Words(name)
	return hasAny(words, "read", "get", "download", "fetch", "export", "cat", "open", "load") &&
		hasAny(words, "file", "files", "document", "doc", "content", "contents", "attachment", "note", "page", "object", "blob", "text")
}

func hasAny(words []string, list ...string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return slices.Contains(list, w) })
}

// secretive reports whether the name of a tool or a variable says that it is a secret.
func secretive(name string) bool {
	for _, w := range catalogue.Words(name) {
		switch strings.TrimSuffix(w, "s") {
		case "password", "passwd", "credential", "secret", "vault", "token", "apikey", "pwd", "keychain":
			return true
		}
	}
	words := catalogue.Words(name)
	return hasAny(words, "key", "keys") && hasAny(words, "access", "api", "private", "ssh", "deploy", "signing")
}

// outward reports whether the name of a tool says that it shows what it gets to others.
func outward(name string) bool {
	for _, w := range catalogue.Words(name) {
		switch strings.TrimSuffix(w, "s") {
		case "send", "post", "share", "upload", "publish", "forward", "invite", "gist", "paste", "webhook", "tweet", "export", "http", "request", "fetch", "notify", "reply", "put", "push", "submit":
			return true
		}
	}
	return false
}
