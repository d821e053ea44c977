module example.com/plugin

go 1.26

require github.com/extism/go-pdk v1.1.3 // the plugin side of Extism
