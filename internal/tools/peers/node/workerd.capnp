using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [(name = "main", worker = .main)],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
);

const main :Workerd.Worker = (
  modules = [(name = "main.js", esModule = embed "workerd-main.js")],
  compatibilityDate = "2026-11-01",
  bindings = [
    (name = "LOADER", workerLoader = (id = "loader")),
    (name = "TOOLS", service = (name = "main", entrypoint = "Tools")),
    (name = "ECHO", text = embed "data/echo.json"),
    (name = "LARGE", text = embed "data/large.json"),
    (name = "COMMITS", text = embed "data/commits.json"),
  ],
);
