package config

import (
	"errors"
	"io/fs"
	"net"
	"path/filepath"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/internal/yamldoc"
)

// Tenancy is what the operator of a server allows a tenant to do on the machine.
type Tenancy struct {
	Stdio bool   `yaml:"stdio" doc:"servers of the tenant may be commands on this machine"`
	User  string `yaml:"user" doc:"name of the user that these commands run as, on Unix; the server must be root"`
	Root  string `yaml:"root" doc:"folder whose files the policy of the tenant may grant; an absolute path"`

	PrivateHosts []string `yaml:"private_hosts" single:"yes" doc:"hosts, as HOST:PORT, that the webhook of the tenant may reach at addresses that are not public, and over http"`
}

// operatorFile is the wexec.yaml in the data folder of a server.
type operatorFile struct {
	Tenants yamldoc.Map[Tenancy] `yaml:"tenants" doc:"what tenants may do on this machine, by name"`
}

// Operator reads what the operator of a server allows its tenants, from the wexec.yaml
// in the data folder. Without a file they may do nothing on the machine.
func Operator(data string) (map[string]Tenancy, error) {
	path := filepath.Join(data, "wexec.yaml")
	text, err := readBounded(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	r := &yamldoc.Reporter{File: path}
	var f operatorFile
	yamldoc.Decode(r, text, &f)
	if err := r.Err(fault.UsageConfig); err != nil {
		return nil, err
	}
	all := map[string]Tenancy{}
	for _, t := range f.Tenants {
		if t.V.Root != "" && (!filepath.IsAbs(t.V.Root) || filepath.Dir(filepath.Clean(t.V.Root)) == filepath.Clean(t.V.Root)) {
			return nil, fault.New(fault.UsageConfig, "%s:%d: root of the tenant %s must be an absolute path of a folder, and not /", path, t.KeyPos.Line, t.Key)
		}
		if t.V.User != "" && !t.V.Stdio {
			return nil, fault.New(fault.UsageConfig, "%s:%d: the tenant %s has a user but no stdio", path, t.KeyPos.Line, t.Key).WithHint("set stdio: true, or remove user")
		}
		for _, host := range t.V.PrivateHosts {
			if name, port, err := net.SplitHostPort(host); err != nil || name == "" || port == "" {
				return nil, fault.New(fault.UsageConfig, "%s:%d: private_hosts of the tenant %s: %q must be HOST:PORT", path, t.KeyPos.Line, t.Key, host)
			}
		}
		all[t.Key] = t.V
	}
	return all, nil
}
