package tokens

// Costs within long pieces: of each letter of a word beyond wordSizes, and of
// each character of a long run of punctuation.
const (
	longWord = 0.19
	runCost  = 0.37
)

// wordCosts lists the average tokens of a word with the character before it, by
// what precedes it, case and length. It was fitted over documents, sources, JSON,
// logs and tables; the tests compare it with the exact tokenizer on other texts.
var wordCosts = [leads][cases][wordSizes]float32{
	{
		{1.00, 1.00, 1.03, 1.02, 1.03, 1.11, 1.15, 1.21, 1.71, 1.59, 1.21, 1.63, 1.99, 2.55},
		{1.00, 1.08, 1.19, 1.15, 1.17, 1.39, 1.28, 1.23, 1.71, 1.32, 1.35, 1.64, 1.54, 1.55},
		{1.00, 1.03, 1.23, 1.32, 1.16, 2.38, 2.29, 2.98, 2.56, 2.50, 3.00, 3.23, 4.37, 2.41},
	},
	{
		{1.00, 1.00, 1.01, 1.01, 1.02, 1.02, 1.04, 1.10, 1.11, 1.17, 1.28, 1.33, 1.48, 2.38},
		{1.00, 1.01, 1.01, 1.04, 1.22, 1.49, 1.18, 1.58, 1.46, 1.44, 1.34, 1.52, 1.71, 1.48},
		{1.00, 1.01, 1.08, 1.05, 1.12, 1.78, 1.83, 2.09, 2.20, 2.13, 2.86, 2.98, 4.03, 2.31},
	},
	{
		{1.01, 1.05, 1.11, 1.27, 1.31, 1.43, 1.68, 2.03, 2.10, 2.14, 2.27, 2.04, 2.02, 2.56},
		{1.00, 1.26, 1.35, 1.27, 1.50, 1.48, 1.39, 1.85, 2.00, 1.66, 1.70, 1.78, 1.96, 1.68},
		{1.07, 1.63, 1.60, 1.76, 1.69, 1.91, 2.58, 2.59, 2.47, 2.76, 3.74, 3.52, 4.79, 2.98},
	},
	{
		{1.00, 1.05, 1.38, 1.60, 1.72, 1.69, 1.14, 1.48, 1.67, 1.88, 1.45, 1.55, 1.70, 2.40},
		{1.00, 1.25, 1.92, 2.01, 2.23, 2.36, 1.85, 2.37, 1.85, 1.42, 1.40, 1.59, 1.71, 1.57},
		{1.00, 1.16, 1.87, 1.55, 2.67, 2.99, 3.29, 3.49, 2.73, 2.94, 3.60, 3.34, 4.43, 2.30},
	},
}

// pairs is the set of punctuation pairs that are one token, by pairOf.
var pairs = [16]uint64{
	0x7ddbffff01d4fbc3, 0x1480e8881040ec0f, 0x40009a402a539d3, 0xbef3f7ff57dfffde,
	0x4ecfbab7fdfffff, 0x16e2ffff01c4fdce, 0xbff7ffff34cc7bfa, 0x1ff6fffe97fefffe,
	0x145e50ed40837dfa, 0x79fffbfe5cfef2ff, 0xe0808a24daf9cf, 0xc2f8ca1fe0dade,
	0x12c0318077dffff3, 0x4981a90037c7fbda, 0x208010c270a0d05a, 0x800458007dfffdfb,
}
