package workspaces

import (
	"archive/zip"
	"bytes"
	"context"
	"io"
	"io/fs"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/workspace"
)

// Diff writes the changes as git does, with tokens instead of personal data unless the
// client may see it.
func (c *Client) Diff(ctx context.Context, id string, to io.Writer) error {
	return c.each(ctx, id, to, func(e workspace.Entry, show workspace.Show, out io.Writer) error { return e.Diff(out, show) })
}

// Export writes the files that were added or modified as a ZIP archive. Texts have tokens
// instead of personal data unless the client may see it.
func (c *Client) Export(ctx context.Context, id string, to io.Writer) error {
	var part swap
	archive := zip.NewWriter(&part)
	err := c.each(ctx, id, to, func(e workspace.Entry, show workspace.Show, out io.Writer) error {
		part.to = out
		return export(archive, e, show)
	})
	if err != nil {
		return err
	}
	part.to = to
	return archive.Close()
}

// swap is a writer to changing places.
type swap struct{ to io.Writer }

// Write implements io.Writer.
func (s *swap) Write(b []byte) (int, error) { return s.to.Write(b) }

// each writes something of each change. Its work has a core, which it gives back while it
// writes.
func (c *Client) each(ctx context.Context, id string, to io.Writer, do func(e workspace.Entry, show workspace.Show, out io.Writer) error) error {
	select {
	case c.Reading <- struct{}{}:
		defer func() { <-c.Reading }()
	default:
		return fault.New(fault.LimitBusy, "%d requests are reading the changes of workspaces", maxReading)
	}
	w, err := c.open(id)
	if err != nil {
		return err
	}
	defer w.Close()
	show, err := c.show(ctx, id)
	if err != nil {
		return err
	}
	leave, err := c.Core(ctx)
	if err != nil {
		return err
	}
	defer func() { leave() }()
	var out bytes.Buffer
	var wrote error // by the client's connection
	err = w.Each(ctx, func(e workspace.Entry) error {
		if err := do(e, show, &out); err != nil {
			return err
		}
		leave()
		leave = func() {}
		_, wrote = out.WriteTo(to)
		if wrote != nil {
			return wrote
		}
		out.Reset()
		again, err := c.Core(ctx)
		if err == nil {
			leave = again
		}
		return err
	})
	switch {
	case wrote != nil:
		return wrote
	case err != nil:
		return c.hidden(id, err)
	}
	_, err = out.WriteTo(to)
	return err
}

// maxPart is how much of a text is searched at once, unless a line is longer.
const maxPart = 64 << 10

// export adds a change to an archive.
func export(archive *zip.Writer, e workspace.Entry, show workspace.Show) error {
	if e.Kind == workspace.Deleted {
		return nil
	}
	name, err := show(e.Path)
	if err != nil {
		return err
	}
	head := &zip.FileHeader{Name: name, Method: zip.Deflate}
	head.SetMode(e.Mode.Perm())
	switch {
	case e.Folder:
		head.Name += "/"
		head.SetMode(fs.ModeDir | 0o755)
		_, err = archive.CreateHeader(head)
		return err
	case e.Link != "":
		target, err := show(e.Link)
		if err != nil {
			return err
		}
		head.SetMode(fs.ModeSymlink | 0o777)
		to, err := archive.CreateHeader(head)
		if err == nil {
			_, err = io.WriteString(to, target)
		}
		return err
	}
	f, err := e.Open()
	if err != nil {
		return err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, workspace.MaxFile))
	if err != nil {
		return err
	}
	to, err := archive.CreateHeader(head)
	if err != nil {
		return err
	}
	if bytes.IndexByte(data, 0) >= 0 { // not a text
		_, err = to.Write(data)
		return err
	}
	for len(data) > 0 {
		n := len(data)
		if n > maxPart {
			n = bytes.LastIndexByte(data[:maxPart], '\n') + 1
			if n == 0 {
				n = maxPart + bytes.IndexByte(data[maxPart:], '\n') + 1
			}
			if n <= maxPart && data[n-1] != '\n' { // the last line
				n = len(data)
			}
		}
		text, err := show(string(data[:n]))
		if err == nil {
			_, err = io.WriteString(to, text)
		}
		if err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}
