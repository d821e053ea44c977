package main

// promises returns the budgets in the unit of each line. A test compares the
// stored figures and the document with them.
func promises() map[string]float64 {
	return map[string]float64{
		"fresh javascript sandbox, 1+1":                           150,
		"fresh python sandbox, 1+1":                               1200,
		"the same from a warm pool, javascript":                   80,
		"the same from a warm pool, python":                       400,
		"wexec run, javascript":                                   12,
		"wexec run, python":                                       40,
		"wexec run, typescript, output cached":                    14,
		"wexec run, typescript":                                   100,
		"fuel overhead, javascript":                               1.15,
		"fuel overhead, python":                                   1.10,
		"tool call round trip, javascript":                        25,
		"tool call round trip, python":                            25,
		"1 MiB answer into an object, javascript":                 6,
		"1 MiB answer into an object, python":                     9,
		"JSON.stringify of 2 MB":                                  8,
		"json.dumps of 2 MB":                                      12,
		"commits job, 2 MB, javascript":                           11,
		"commits job, 2 MB, python":                               15,
		"private memory of an idle instance, javascript":          150,
		"private memory of an idle instance, python":              1024,
		"runtime.GC next to a busy guest":                         15,
		"worst overshoot of a deadline next to eight busy guests": 15,
		"1,000 runs in flight, lost":                              1, // fewer than one
		"result-cache hit":                                        1,
		"package initialization of the binary":                    5,
		"POST /v1/runs of 1+1, SQLite":                            1.5,
		"the same from 32 clients, each run":                      1,
		"32 clients of two servers on PostgreSQL, each run":       1 / 0.6,
	}
}
