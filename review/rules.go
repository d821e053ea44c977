package review

// Rule is something that a review looks for.
type Rule struct {
	ID         string
	Weak       bool   // it counts only under the profile cars
	Finds      string // what it matches
	Reason     string // why that matters
	Mitigation string // what to do about it
}

// IDs of the rules.
const (
	ruleDynamic     = "dynamic-code"
	ruleEscape      = "escape"
	ruleProcess     = "process"
	ruleDestructive = "destructive"
	ruleAuthority   = "authority"
	ruleWriteLoop   = "write-loop"
	ruleCredential  = "credential"
	rulePath        = "path-traversal"
	ruleEnvironment = "environment"
	ruleImport      = "module-import"
	ruleObfuscation = "obfuscation"
	ruleExfiltrate  = "exfiltration"
	ruleIntent      = "intent"
	ruleHidden      = "hidden-output"
	ruleBypass      = "bypass-words"
	ruleComment     = "comment-instructions"
	ruleSize        = "code-size"
	rulePayload     = "encoded-payload"
	ruleNewTool     = "new-tool"
	ruleLimit       = "review-limit"
)

// Rules returns all rules, in the order of the documentation.
func Rules() []Rule {
	return []Rule{
		{ruleDynamic, false, "`eval`, `exec`, `Function`, `compile` and others that run text as code, and objects that run code when they are read",
			"The code that runs is not the code that was reviewed.", "Write the code itself, or parse data with a parser for it."},
		{ruleEscape, false, "ways to the interpreter's inside: `__subclasses__`, `__globals__`, frames, `ctypes`, the constructor of a constructor, changed prototypes, `process.binding`, WebAssembly",
			"An honest program has no use for them; attacks on a sandbox begin there.", "Remove the access; use the tools and modules that the sandbox offers."},
		{ruleProcess, false, "starting a process or a shell",
			"A command has the rights of its user, not those of the program.", "Use a tool for the task."},
		{ruleDestructive, false, "commands, SQL and calls that delete much: `rm -rf`, `DROP TABLE`, `DELETE` without `WHERE`, tools that delete, in a loop",
			"What they remove cannot be brought back.", "Name what to delete one by one, and have a person confirm it."},
		{ruleAuthority, false, "tools that give all rights, open access to everybody, turn off logs, backups or protection, replace history, answer approvals, forward mail, move names, replace packages, or move money to a receiver in the code",
			"Such a call changes who controls a system or an account.", "Leave it to a person, or have one confirm each call."},
		{ruleWriteLoop, false, "tools that change something, requests and written files, in a loop or a recursion that does not end",
			"It repeats the change until a limit of the run stops it.", "Give the loop a bound or a condition that ends it."},
		{ruleCredential, false, "keys, tokens, passwords and private keys in the code",
			"Code is stored, shown and sent to models, and each reader gets the key.", "Put it in a secret of the policy and let a rule fill it in."},
		{rulePath, false, "paths that leave their folder with `..`, and paths of system files, keys and credentials",
			"They reach files that the task does not name.", "Use paths inside of the folders that the policy grants."},
		{ruleEnvironment, true, "reading environment variables",
			"They often hold keys and describe the machine.", "Pass what the program needs as arguments."},
		{ruleImport, true, "importing modules for files, the network or processes",
			"The program can do more than call tools.", "Remove the import if the program works without it."},
		{ruleObfuscation, false, "names of dangerous functions that are built at run time, scrambled identifiers, letters written as escapes, invisible and bidirectional characters, names of two alphabets, calls that happen unseen",
			"Code that hides what it does cannot be judged.", "Write names and strings plainly."},
		{ruleExfiltrate, false, "personal data, secrets or the whole environment that flow into a request or a message to the outside, and messages that ask for them",
			"Data that left cannot be called back.", "Send totals or tokens, and only to receivers that the policy allows."},
		{ruleIntent, false, "calls that change or delete something where the stated intent only reads",
			"The program does more than it was asked for.", "State the change in the intent, or remove the call."},
		{ruleHidden, false, "output between `<hidden>` tags, or in characters that are not visible",
			"It is meant for a model and kept from the person who reads.", "Print what the person may read."},
		{ruleBypass, false, "words that ask a checker to look away, such as `@ignore-security`",
			"Comments have no say in a review.", "Remove the words."},
		{ruleComment, false, "comments that instruct a model or a reviewer, and texts that tell a model to keep something from its user",
			"They try to change the judgment of who reads the code.", "Write comments about the code."},
		{ruleSize, true, "code of more than 10,000 characters",
			"A person cannot read it before it runs.", "Divide the task into several programs."},
		{rulePayload, false, "constants that decode to programs, archives or code, and texts with commands that run what they download",
			"The constant hides from the review what the program runs.", "Remove the constant, or write its content as code."},
		{ruleNewTool, false, "calling a tool that was added or changed less than 5 minutes ago",
			"A server may change a tool after a person approved it.", "Read the tool's definition, then run the program again."},
		{ruleLimit, false, "programs that are too large, too deep or too costly to review",
			"What was not reviewed may do anything.", "Make the program smaller and simpler."},
	}
}

// ruleOf returns a rule by its id.
func ruleOf(id string) Rule {
	for _, r := range Rules() {
		if r.ID == id {
			return r
		}
	}
	return Rule{}
}
