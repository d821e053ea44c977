# Task: the images of a compose file
# Want: {"web":"nginx:1.27","db":"postgres:16"}
import yaml

COMPOSE = """
version: "3.9"
services:
  web:
    image: nginx:1.27
    ports: ["80:80"]
    depends_on:
      - db
  db:
    image: "postgres:16"
    environment: &env
      POSTGRES_PASSWORD: example
"""

config = yaml.load(COMPOSE, Loader=yaml.SafeLoader)
{name: service["image"] for name, service in config["services"].items()}
