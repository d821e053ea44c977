package blobs

import "strings"

// Open opens the store at an address: a folder, which is created if it is missing,
// or s3://BUCKET/PREFIX with ?endpoint= and ?region=. The credentials for S3 come
// from AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, which env looks up.
func Open(address string, env func(string) string) (Store, error) {
	if strings.HasPrefix(address, "s3://") {
		return openS3(address, env)
	}
	return openFolder(address)
}
