// fs/promises and fs, path, and the input: files below the mounts.
($) => {
  const explain = { ENOENT: 'no such file or directory', EACCES: 'permission denied', EEXIST: 'file already exists',
    ENOTDIR: 'not a directory', EISDIR: 'illegal operation on a directory', ENOTEMPTY: 'directory not empty', EROFS: 'read-only file system',
    ENOSPC: 'no space left on device', EFBIG: 'file too large', EINVAL: 'invalid argument', ENAMETOOLONG: 'name too long',
    EBADF: 'bad file descriptor', ELOOP: 'too many symbolic links', EXDEV: 'cross-device link not permitted', EIO: 'i/o error' };

  // true if a file is missing because the policy does not allow its folder
  const beyond = (path) => {
    const top = `/${path.split('/', 2)[1] ?? ''}`;
    if (top === '/' || ['/tmp', '/mcp-servers', '/app', '/packages'].includes(top)) return false;
    return typeof $.fileStatus(top, true) === 'string';
  };

  const fileError = (code, call, path, to) => {
    if (code === 'EROFS' || (code === 'ENOENT' && path !== undefined && beyond(path))) code = 'EACCES';
    const place = to === undefined ? ` '${path}'` : ` '${path}' -> '${to}'`;
    const error = new Error(`${code}: ${explain[code] ?? 'operation failed'}, ${call}${path === undefined ? '' : place}`);
    Object.assign(error, { code, syscall: call });
    if (path !== undefined) error.path = path;
    if (code === 'EACCES') {
      $.define(error, 'fault', 'denied.file');
      $.define(error, 'hint', "a program can reach files in '/tmp', '/mcp-servers' and the paths that the policy allows");
      $.faults.add(error);
    }
    return error;
  };

  // ---- path ----
  const normalize = (path) => {
    const parts = [];
    for (const part of path.split('/')) {
      if (part === '' || part === '.') continue;
      if (part === '..' && parts.length > 0 && parts[parts.length - 1] !== '..') parts.pop();
      else if (part !== '..' || !path.startsWith('/')) parts.push(part);
    }
    const text = parts.join('/') + (path.endsWith('/') && parts.length > 0 ? '/' : '');
    return path.startsWith('/') ? `/${text}` : text || '.';
  };
  // where relative paths start; imports start at the file that has them
  const folder = () => ($.input && $.input.cwd) || '/tmp';
  const resolve = (...parts) => {
    let path = '';
    for (let i = parts.length - 1; i >= 0 && !path.startsWith('/'); i--) if (parts[i] !== '') path = path === '' ? parts[i] : `${parts[i]}/${path}`;
    if (!path.startsWith('/')) path = `${folder()}/${path}`;
    return normalize(path).replace(/(?<=.)\/$/, '');
  };
  const basename = (path, suffix) => {
    const name = path.replace(/\/+$/, '').split('/').pop();
    return suffix && name !== suffix && name.endsWith(suffix) ? name.slice(0, -suffix.length) : name;
  };
  const dirname = (path) => {
    const cut = path.replace(/\/+$/, '').lastIndexOf('/');
    return cut < 0 ? '.' : cut === 0 ? '/' : path.slice(0, cut);
  };
  const extname = (path) => {
    const name = basename(path), dot = name.lastIndexOf('.');
    return dot <= 0 ? '' : name.slice(dot);
  };
  const path = {
    sep: '/', delimiter: ':', normalize, resolve, basename, dirname, extname,
    join: (...parts) => normalize(parts.filter((part) => part !== '').join('/')),
    isAbsolute: (text) => text.startsWith('/'),
    parse: (text) => {
      const base = basename(text), ext = extname(text), dir = dirname(text);
      return { root: text.startsWith('/') ? '/' : '', dir: dir === '.' && !text.startsWith('.') ? '' : dir, base, ext, name: ext ? base.slice(0, -ext.length) : base };
    },
    format: ({ dir, root = '', base, name = '', ext = '' }) => {
      const last = base ?? name + ext;
      return dir ? (dir === root ? dir + last : `${dir}/${last}`) : root + last;
    },
    relative: (from, to) => {
      const a = resolve(from).split('/').filter(Boolean), b = resolve(to).split('/').filter(Boolean);
      let same = 0;
      while (same < a.length && same < b.length && a[same] === b[same]) same++;
      return [...a.slice(same).map(() => '..'), ...b.slice(same)].join('/');
    },
  };
  path.posix = path;
  $.path = path;

  // ---- the calls ----
  // A number is a file that openSync opened, standard input, or an output.
  const STDIN = '/dev/stdin', outputs = { 1: 1, 2: 2, '/dev/stdout': 1, '/dev/stderr': 2 }, opened = new Map();
  const output = (file, data) => {
    const fd = typeof file === 'string' || typeof file === 'number' ? outputs[file] : undefined;
    if (fd) $.write(fd, typeof data === 'string' ? data : $.decode($.bytesOf(data), false));
    return fd !== undefined;
  };
  const at = (given) => {
    if (given === 0) return STDIN;
    if (typeof given === 'number') {
      if (!opened.has(given)) throw fileError('EBADF', 'open');
      return opened.get(given).path;
    }
    if (given instanceof URL) {
      if (given.protocol !== 'file:') throw $.coded(new TypeError('The URL must be of scheme file'), 'ERR_INVALID_URL_SCHEME');
      return decodeURIComponent(given.pathname);
    }
    if (given instanceof Uint8Array) given = new TextDecoder().decode(given);
    if (typeof given !== 'string') {
      throw $.coded(new TypeError(`The "path" argument must be of type string or an instance of URL. Received ${$.inspect(given)}`), 'ERR_INVALID_ARG_TYPE');
    }
    return resolve(given);
  };
  const done = (result, call, path, to) => {
    if (typeof result === 'string') throw fileError(result, call, path, to);
    return result;
  };
  const encodingOf = (options) => (typeof options === 'string' ? options : options?.encoding);
  const toText = (bytes, encoding) => $.textOf(bytes, encoding);
  const toBytes = (data, encoding) => {
    if (typeof data === 'string') return $.bytesIn(data, encoding);
    if (ArrayBuffer.isView(data) || data instanceof ArrayBuffer) return data;
    throw $.coded(new TypeError(`The "data" argument must be of type string or an instance of Uint8Array. Received ${$.inspect(data)}`), 'ERR_INVALID_ARG_TYPE');
  };

  class Stats {
    #kind;
    constructor([kind, size, changed]) {
      this.#kind = kind;
      this.size = size;
      this.mode = kind === 'folder' ? 0o40755 : 0o100644;
      this.mtimeMs = changed;
      this.mtime = new Date(changed);
    }
    isFile() { return this.#kind === 'file'; }
    isDirectory() { return this.#kind === 'folder'; }
    isSymbolicLink() { return this.#kind === 'link'; }
  }
  class Dirent {
    #isFolder;
    constructor(name, isFolder, parent) {
      this.name = name;
      this.parentPath = parent;
      this.path = parent;
      this.#isFolder = isFolder;
    }
    isFile() { return !this.#isFolder; }
    isDirectory() { return this.#isFolder; }
    isSymbolicLink() { return false; }
  }

  const status = (path, follow, call) => new Stats(done($.fileStatus(path, follow), call, path));
  const list = (path) => {
    const flat = done($.listFolder(path), 'scandir', path);
    const entries = [];
    for (let i = 0; i < flat.length; i += 2) entries.push(new Dirent(flat[i], flat[i + 1], path));
    return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  };
  const walk = (path, relative) => list(path).flatMap((entry) => {
    const name = relative + entry.name;
    return entry.isDirectory() ? [[name, entry], ...walk(`${path}/${entry.name}`, `${name}/`)] : [[name, entry]];
  });
  const removeTree = (path) => {
    if ($.fileStatus(path, false)[0] !== 'folder') return done($.removeFile(path), 'rm', path);
    for (const entry of list(path)) removeTree(`${path}/${entry.name}`);
    return done($.removeFolder(path), 'rm', path);
  };

  // the blocking calls; fs/promises and fs.*Sync are built from them
  const calls = {
    readFile(file, options) {
      const path = at(file), encoding = encodingOf(options);
      const bytes = path === STDIN ? $.bytesIn(inputText()) : new Uint8Array(done($.readFile(path), 'open', path));
      return encoding && encoding !== 'buffer' ? toText(bytes, encoding) : $.bufferOf(bytes);
    },
    writeFile(file, data, options) {
      if (output(file, data)) return;
      const path = at(file), flag = options?.flag ?? (opened.has(file) ? 'a' : 'w');
      done($.writeFile(path, toBytes(data, encodingOf(options)), flag.includes('x') ? 'x' : flag[0]), 'open', path);
    },
    appendFile(file, data, options) {
      if (output(file, data)) return;
      const path = at(file);
      done($.writeFile(path, toBytes(data, encodingOf(options)), 'a'), 'open', path);
    },
    readdir(dir, options) {
      const path = at(dir);
      if (options?.recursive) return walk(path, '').map(([name, entry]) => (options.withFileTypes ? entry : name));
      const entries = list(path);
      return options?.withFileTypes ? entries : entries.map((entry) => entry.name);
    },
    stat: (file) => status(at(file), true, 'stat'),
    lstat: (file) => status(at(file), false, 'lstat'),
    mkdir(dir, options) {
      const path = at(dir);
      if (!options?.recursive && typeof options !== 'boolean') return done($.makeFolder(path), 'mkdir', path);
      let made, built = '';
      for (const part of path.split('/').filter(Boolean)) {
        built += `/${part}`;
        const known = $.fileStatus(built, true);
        if (known[0] === 'folder') continue;
        if (typeof known !== 'string') throw fileError(built === path ? 'EEXIST' : 'ENOTDIR', 'mkdir', path);
        done($.makeFolder(built), 'mkdir', path);
        made ??= built;
      }
      return made;
    },
    rm(file, options) {
      const path = at(file), known = $.fileStatus(path, false);
      if (typeof known === 'string') {
        if (options?.force && known === 'ENOENT') return undefined;
        throw fileError(known, 'rm', path);
      }
      if (known[0] !== 'folder') return done($.removeFile(path), 'rm', path);
      if (!options?.recursive) throw $.coded(new Error(`Path is a directory: rm returned EISDIR (is a directory) ${path}`), 'ERR_FS_EISDIR');
      return removeTree(path);
    },
    rmdir(dir) { const path = at(dir); done($.removeFolder(path), 'rmdir', path); },
    unlink(file) { const path = at(file); done($.removeFile(path), 'unlink', path); },
    rename(from, to) { const a = at(from), b = at(to); done($.renameFile(a, b), 'rename', a, b); },
    copyFile(from, to) {
      const a = at(from), b = at(to);
      done($.writeFile(b, done($.readFile(a), 'copyfile', a, b), 'w'), 'copyfile', a, b);
    },
    access(file) { const path = at(file); done($.fileStatus(path, true), 'access', path); },
    realpath(file) { const path = at(file); done($.fileStatus(path, true), 'realpath', path); return path; },
    truncate(file, size = 0) {
      const path = at(file), bytes = done($.readFile(path), 'open', path), cut = new Uint8Array(size);
      cut.set(new Uint8Array(bytes).subarray(0, size));
      done($.writeFile(path, cut, 'w'), 'ftruncate', path);
    },
    cp(from, to, options) {
      if (!calls.stat(from).isDirectory()) return calls.copyFile(from, to);
      if (!options?.recursive) throw fileError('EISDIR', 'cp', at(from));
      calls.mkdir(to, { recursive: true });
      for (const { name } of list(at(from))) calls.cp(`${at(from)}/${name}`, `${at(to)}/${name}`, options);
      return undefined;
    },
    mkdtemp(prefix) {
      const path = at(prefix) + Math.random().toString(36).slice(2, 8).padEnd(6, '0');
      done($.makeFolder(path), 'mkdtemp', path);
      return path;
    },
  };
  // ---- descriptors ----
  const open = (file, flags = 'r') => {
    const path = at(file);
    if (flags[0] === 'r') calls.access(file);
    else calls.writeFile(file, '', { flag: flags });
    const fd = 3 + opened.size;
    opened.set(fd, { path, place: 0 });
    return fd;
  };
  const descriptors = {
    openSync: open,
    closeSync(fd) { if (!opened.has(fd)) throw fileError('EBADF', 'close'); opened.set(fd, {}); },
    fstatSync: (fd) => calls.stat(fd),
    writeSync(fd, data) {
      calls.appendFile(fd, data);
      return typeof data === 'string' ? $.bytesIn(data).length : data.byteLength;
    },
    readSync(fd, buffer, offset = 0, length = buffer.byteLength - offset, place = null) {
      const file = opened.get(fd) ?? { place: 0 }, from = Number(place ?? file.place), part = calls.readFile(fd).subarray(from, from + length);
      if (place === null) file.place += part.length;
      new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.byteLength).set(part, offset);
      return part.length;
    },
  };
  class FileHandle {
    constructor(fd) { this.fd = fd; }
    async readFile(options) { return calls.readFile(this.fd, options); }
    async writeFile(data, options) { return calls.writeFile(this.fd, data, options); }
    async appendFile(data, options) { return calls.appendFile(this.fd, data, options); }
    async write(data) { return { bytesWritten: descriptors.writeSync(this.fd, data), buffer: data }; }
    async read(buffer, ...given) { return { bytesRead: descriptors.readSync(this.fd, buffer, ...given), buffer }; }
    async stat() { return calls.stat(this.fd); }
    async* readLines(options) { yield* calls.readFile(this.fd, { encoding: 'utf8', ...options }).replace(/\r?\n$/, '').split(/\r?\n/); }
    async close() { descriptors.closeSync(this.fd); }
    async [Symbol.asyncDispose]() { return this.close(); }
  }

  const constants = { F_OK: 0, R_OK: 4, W_OK: 2, X_OK: 1 };
  const promises = { constants, open: async (file, flags) => new FileHandle(open(file, flags)) };
  const fs = { promises, constants, ...descriptors, existsSync: (file) => {
    try {
      return typeof $.fileStatus(at(file), true) !== 'string';
    } catch {
      return false;
    }
  } };
  for (const name of Object.keys(calls)) {
    promises[name] = { async [name](...given) { return calls[name](...given); } }[name];
    fs[`${name}Sync`] = calls[name];
    // fs.readFile(path, callback)
    fs[name] = (...given) => {
      const callback = given.pop();
      if (typeof callback !== 'function') throw $.coded(new TypeError('The "cb" argument must be of type function'), 'ERR_INVALID_ARG_TYPE');
      promises[name](...given).then((value) => callback(null, value), callback);
    };
  }
  $.fs = fs;
  $.readSource = (file) => {
    const data = typeof file === 'string' && file.startsWith('/') ? $.readFile(file) : 'ENOENT';
    return typeof data === 'string' ? undefined : $.decode(data, false);
  };

  // ---- standard input ----
  let input;
  const inputText = () => {
    if (input === undefined) {
      const data = $.readInput();
      input = typeof data === 'string' ? '' : $.decode(data, false);
    }
    return input;
  };
  $.expose('stdin', {
    async text() { return inputText(); },
    async json() { return JSON.parse(inputText()); },
    lines() {
      const lines = inputText().split(/\r?\n/);
      if (lines[lines.length - 1] === '') lines.pop();
      // usable with and without await, and in for await
      $.define(lines, Symbol.asyncIterator, async function* each() { for (const line of lines) yield line; });
      return lines;
    },
  });
  $.forgetInput = () => { input = undefined; };
};
