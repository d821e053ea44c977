// Prepares a run: arguments, environment, input and servers.
($) => {
  // Removes Markdown fences around the whole code; lines keep their numbers.
  const unfenced = (code) => {
    const fenced = /^(\s*)```[\w+-]*[ \t]*(\r?\n[^]*?\n)[ \t]*```\s*$/.exec(code);
    return fenced && !/^[ \t]*```/m.test(fenced[2]) ? fenced[1] + fenced[2] : code;
  };

  $.hook('begin', (input) => {
    if (typeof input.code !== 'string') throw new TypeError('the input has no code');
    if (typeof input.file !== 'string') input.file = 'main.js';
    const first = input.code.charCodeAt(0);
    if (first === 0x60 || first === 10 || first === 13 || first === 32) input.code = unfenced(input.code);
    $.input = input;
    $.started = $.now();
    $.forgetInput();
    globalThis.args = input.args === undefined ? {} : input.args;
    globalThis.env = input.env ?? {};
    const servers = Array.isArray(input.servers) ? input.servers : [];
    $.serverNames = servers;
    $.exposeServers(servers);
    if (input.session) $.newProcess();
    if (input.session || input.code.includes('content')) $.envelop(input.code);
    if (input.code.includes('__')) $.exposeSpelled(input.code);
  });
};
