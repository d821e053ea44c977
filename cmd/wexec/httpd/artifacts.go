package httpd

import (
	"errors"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns/artifacts"
	"github.com/wexec/wexec/service"
	"github.com/wexec/wexec/store"
	"github.com/wexec/wexec/store/blobs"
)

// artifactsPath takes bodies of any size, which are not held in memory.
const artifactsPath = "/v1/artifacts"

// A body of any size has readTimeout, and more for each byte at leastRate bytes per
// second. streamMemory is what such a request holds.
const (
	leastRate    = 32 << 10
	streamMemory = 1 << 20
)

// artifact is an artifact as the API shows it.
type artifact struct {
	Artifact string    `json:"artifact" jsonschema:"sha256: and the digest of the content"`
	Name     string    `json:"name"`
	Type     string    `json:"type"`
	Bytes    int64     `json:"bytes"`
	Created  time.Time `json:"created"`
	Expires  time.Time `json:"expires"`
	Run      string    `json:"run,omitempty" jsonschema:"the run that put it"`
}

func artifactOf(a store.Artifact) artifact {
	return artifact{service.ArtifactID(a), a.Name, a.Type, a.Bytes, a.Created, a.Expires, a.Run}
}

type putArtifactInput struct {
	Name string         `query:"name" doc:"of the file; not a path"`
	Keep *time.Duration `query:"keep" doc:"how long it is kept, at most the tenant's retention.artifacts, which is the default"`
}

func putArtifact(s *Server, c *call, in putArtifactInput) (artifact, error) {
	a := service.NewArtifact{Name: in.Name, Type: c.r.Header.Get("Content-Type")}
	if in.Keep != nil {
		if a.Keep = *in.Keep; a.Keep == 0 {
			return artifact{}, invalid("keep: must be more than 0")
		}
	}
	kept, err := s.service.PutArtifact(c.context(), c.who, a, &paced{c.r.Body, http.NewResponseController(c.w), time.Now(), 0})
	return artifactOf(kept), err
}

// paced is a body that has to arrive at leastRate.
type paced struct {
	from  io.Reader
	flow  *http.ResponseController
	start time.Time
	n     int64
}

// Read implements io.Reader.
func (p *paced) Read(b []byte) (int, error) {
	_ = p.flow.SetReadDeadline(p.start.Add(readTimeout + time.Duration(p.n)*time.Second/leastRate))
	n, err := p.from.Read(b)
	p.n += int64(n)
	if err != nil && err != io.EOF {
		err = fault.New(fault.UsageFlag, "the body did not arrive")
	}
	return n, err
}

type artifactsInput struct {
	Limit  int    `query:"limit" doc:"how many artifacts; 50 unless told, at most 1,000"`
	Cursor string `query:"cursor" doc:"next of the page before"`
}

// artifactsPage is a page of artifacts, the newest first.
type artifactsPage struct {
	Artifacts []artifact `json:"artifacts"`
	Next      string     `json:"next,omitempty"`
}

func listArtifacts(s *Server, c *call, in artifactsInput) (artifactsPage, error) {
	all, next, err := s.service.Artifacts(c.context(), c.who, in.Cursor, limitOf(in.Limit))
	page := artifactsPage{Artifacts: []artifact{}, Next: next}
	for _, a := range all {
		page.Artifacts = append(page.Artifacts, artifactOf(a))
	}
	return page, err
}

type artifactInput struct {
	SHA256 string `path:"sha256" doc:"64 hexadecimal digits"`
}

// id returns the id in a path.
func (in artifactInput) id() (string, error) {
	id := strings.TrimPrefix(in.SHA256, "sha256:")
	if _, err := blobs.ParseDigest(id); err != nil {
		return "", missing(fs.ErrNotExist)
	}
	return id, nil
}

// missing makes the error of an absent artifact the status 404.
func missing(err error) error {
	if errors.Is(err, fs.ErrNotExist) && fault.CodeOf(err) != fault.StoreUnavailable {
		return statusError{fault.New(fault.UsageFile, "there is no such artifact, or it has expired"), http.StatusNotFound}
	}
	return err
}

// getArtifact sends the content of an artifact, or a range of it. A browser saves it
// and shows it in no page.
func getArtifact(s *Server, c *call) error {
	id, err := artifactInput{c.r.PathValue("sha256")}.id()
	if err != nil {
		return err
	}
	a, covered, err := s.service.OpenArtifact(c.context(), c.who, id)
	if err != nil {
		return missing(err)
	}
	defer a.Close()
	h := c.w.Header()
	h.Set("Content-Type", a.Type)
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": a.Name}))
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	w := &download{ResponseWriter: c.w, flow: http.NewResponseController(c.w)}
	if covered != nil { // its length is not known, and its tokens are new each time
		h.Set("Cache-Control", "no-store")
		if err := covered(w); err != nil && w.started {
			panic(http.ErrAbortHandler) // the client sees that the content is not complete
		} else if err != nil {
			h.Del("Content-Disposition")
			return err
		}
		return nil
	}
	h.Set("Cache-Control", "private, no-cache")
	h.Set("ETag", `"`+a.ID+`"`)
	http.ServeContent(w, c.r, "", time.Time{}, io.NewSectionReader(a, 0, a.Bytes))
	return nil
}

// download sends content to a client that takes some of it each writeTimeout.
type download struct {
	http.ResponseWriter
	flow    *http.ResponseController
	started bool
	refused bool // the answer is a problem instead
}

// WriteHeader implements http.ResponseWriter. A range that the content does not have
// is a problem like any other.
func (d *download) WriteHeader(status int) {
	d.started = true
	if status != http.StatusRequestedRangeNotSatisfiable {
		d.ResponseWriter.WriteHeader(status)
		return
	}
	d.refused = true
	for _, name := range []string{"Content-Disposition", "Content-Length", "ETag"} {
		d.Header().Del(name)
	}
	writeProblem(d.ResponseWriter, statusError{invalid("the artifact does not have this range"), status})
}

// Write implements io.Writer.
func (d *download) Write(b []byte) (int, error) {
	d.started = true
	if d.refused {
		return len(b), nil
	}
	_ = d.flow.SetWriteDeadline(time.Now().Add(writeTimeout))
	return d.ResponseWriter.Write(b)
}

type linesInput struct {
	SHA256 string `path:"sha256" doc:"64 hexadecimal digits"`

	From  int    `query:"from" doc:"the first line; 1 unless told"`
	Lines int    `query:"lines" doc:"how many lines at most; 1,000 unless told, and 1 MiB"`
	Match string `query:"match" doc:"only lines that match this regular expression, in RE2 syntax"`
}

// artifactLines reads and searches a text in pages.
func artifactLines(s *Server, c *call, in linesInput) (artifacts.Page, error) {
	id, err := artifactInput{in.SHA256}.id()
	if err != nil {
		return artifacts.Page{}, err
	}
	page, err := s.service.ReadArtifact(c.context(), c.who, id, artifacts.Query{From: in.From, Lines: in.Lines, Match: in.Match})
	return page, missing(err)
}

// deletedArtifact names an artifact that is gone.
type deletedArtifact struct {
	Artifact string `json:"artifact"`
}

func deleteArtifact(s *Server, c *call, in artifactInput) (deletedArtifact, error) {
	id, err := in.id()
	if err == nil {
		err = s.service.DeleteArtifact(c.context(), c.who, id)
	}
	return deletedArtifact{"sha256:" + id}, missing(err)
}
