import { WorkerEntrypoint } from 'cloudflare:workers';

// Tools are the tools that programs call.
export class Tools extends WorkerEntrypoint {
  call(name) { return { echo: this.env.ECHO, large: this.env.LARGE, commits: this.env.COMMITS }[name]; }
}

let runs = 0;

export default {
  async fetch(req, env) {
    const url = new URL(req.url);
    if (url.pathname === '/ready') return new Response('ready');
    const program = await req.text();
    const name = url.searchParams.has('keep') ? `kept-${url.searchParams.get('keep')}` : `run-${runs++}`;
    const stub = env.LOADER.get(name, () => ({
      compatibilityDate: '2026-11-01', mainModule: 'main.js', globalOutbound: null, env: { TOOLS: env.TOOLS },
      modules: {
        'main.js': `export default { async fetch(req, env) {
          const hostCall = (n, j) => env.TOOLS.call(n, j);
          try { return new Response(String(await ${program})); } catch (e) { return new Response(String(e), { status: 500 }); }
        } }`,
      },
    }));
    return stub.getEntrypoint().fetch('http://sandbox/');
  },
};
