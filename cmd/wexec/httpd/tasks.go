package httpd

import (
	"errors"
	"net/http"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/service"
	"github.com/wexec/wexec/store"
)

type addTaskInput struct {
	Key  string `header:"Idempotency-Key" doc:"a request with the key of an earlier one gives the task of that one, for 24 hours"`
	Body service.NewTask
}

func addTask(s *Server, c *call, in addTaskInput) (service.Task, error) {
	release, err := s.hold(c.who, in.Key)
	if err != nil {
		return service.Task{}, err
	}
	defer release()
	return s.service.AddTask(c.context(), c.who, in.Body, in.Key)
}

type tasksInput struct {
	Limit  int    `query:"limit" doc:"how many tasks; 50 unless told, at most 1,000"`
	Cursor string `query:"cursor" doc:"next of the page before; empty for the first"`
	State  string `query:"state" enum:"queued|running|review|accepted|rejected|failed|cancelled" doc:"tasks in this state"`
	Actor  string `query:"actor" doc:"tasks of the token with this name"`
	Name   string `query:"name" doc:"tasks with this name"`
}

// tasksPage is a page of tasks, the newest first.
type tasksPage struct {
	Tasks []service.Task `json:"tasks"`
	Next  string         `json:"next,omitempty"`
}

func listTasks(s *Server, c *call, in tasksInput) (page tasksPage, err error) {
	page.Tasks, page.Next, err = s.service.Tasks(c.context(), c.who, store.TaskFilter{State: store.TaskState(in.State), Actor: in.Actor, Name: in.Name, Before: in.Cursor, Limit: limitOf(in.Limit)})
	return page, err
}

type taskInput struct {
	ID string `path:"id" doc:"the id of the task"`
}

// taskError has the status of an error about a task that a path names.
func taskError(err error) error {
	if errors.Is(err, fault.UsageTask) {
		return statusError{err, http.StatusNotFound}
	}
	return err
}

func getTask(s *Server, c *call, in taskInput) (service.Task, error) {
	task, err := s.service.Task(c.context(), c.who, in.ID)
	return task, taskError(err)
}

type cancelledTask struct {
	ID        string `json:"id"`
	Cancelled bool   `json:"cancelled" jsonschema:"false: it had ended before"`
}

func cancelTask(s *Server, c *call, in taskInput) (cancelledTask, error) {
	ok, err := s.service.CancelTask(c.context(), c.who, in.ID)
	return cancelledTask{in.ID, ok}, taskError(err)
}

func retryTask(s *Server, c *call, in taskInput) (service.Task, error) {
	task, err := s.service.RetryTask(c.context(), c.who, in.ID)
	return task, taskError(err)
}

func acceptTask(s *Server, c *call, in taskInput) (service.Task, error) {
	return s.decideTask(c, in.ID, true)
}

func rejectTask(s *Server, c *call, in taskInput) (service.Task, error) {
	return s.decideTask(c, in.ID, false)
}

func (s *Server) decideTask(c *call, id string, accept bool) (service.Task, error) {
	task, err := s.service.DecideTask(c.context(), c.who, id, accept)
	if errors.Is(err, fault.UsageWorkspace) {
		return task, workspaceError(err)
	}
	return task, taskError(err)
}
