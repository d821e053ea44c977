package httpd

import "github.com/wexec/wexec/service"

type deleteSubjectInput struct{ Body service.Subject }

func deleteSubject(s *Server, c *call, in deleteSubjectInput) (service.Deleted, error) {
	return s.service.Delete(c.context(), c.who, in.Body)
}
