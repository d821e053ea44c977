// The exceptions of host calls, and what becomes of an exception that ends a
// program: its place in the program's own text, its stack, and a hint.
($) => {
  class ToolError extends Error {
    constructor(message, fields) {
      super(message);
      for (const key of ['code', 'tool', 'hint', 'rule']) {
        if (fields && fields[key] !== undefined && fields[key] !== '') this[key] = fields[key];
      }
    }
  }
  class PolicyError extends ToolError {}
  class GuestFault extends Error {} // guest.result, guest.stalled: never seen by programs
  for (const type of [ToolError, PolicyError, GuestFault]) {
    Object.defineProperty(type.prototype, 'name', { value: type.name, writable: true, configurable: true });
  }
  $.ToolError = ToolError;
  $.PolicyError = PolicyError;

  $.hook('error', (answer) => {
    const fields = answer !== null && typeof answer === 'object' ? answer : {};
    const code = String(fields.code || 'internal');
    const message = String(fields.message || 'the call failed');
    const type = code.startsWith('denied.') ? PolicyError : code.startsWith('guest.') ? GuestFault : ToolError;
    return new type(message, fields.code ? fields : { ...fields, code });
  });
};
