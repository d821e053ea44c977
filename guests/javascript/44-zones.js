// Time zones: offsets from the compiled zones of the tz database.
($) => {
  const zones = new Map(); // name as asked for, to zone or undefined

  // "EST5EDT,M3.2.0,M11.1.0": the rule that applies after a zone's last transition
  const parseRule = (text) => {
    const found = /^(<[^>]+>|[A-Za-z]+)([-+\d:]+)(?:(<[^>]+>|[A-Za-z]+)([-+\d:]*)(?:,([^,]+),([^,]+))?)?$/.exec(text);
    if (!found) return undefined;
    const seconds = (clock) => {
      const [h, m = 0, s = 0] = clock.replace(/^[-+]/, '').split(':').map(Number);
      return (clock.startsWith('-') ? -1 : 1) * (h * 3600 + m * 60 + s);
    };
    const [, name, west, summerName, summerWest, from, to] = found;
    const standard = { offset: -seconds(west), name: name.replace(/[<>]/g, ''), summer: false };
    if (!summerName || !from) return { standard };
    const summer = { offset: summerWest ? -seconds(summerWest) : standard.offset + 3600, name: summerName.replace(/[<>]/g, ''), summer: true };
    const day = (part) => {
      const [date, clock = '2'] = part.split('/');
      return { date, at: seconds(clock) };
    };
    return { standard, summer, from: day(from), to: day(to) };
  };

  // seconds since 1970, by the clock on the wall, of a rule's day in a year
  const changeIn = (year, { date, at }) => {
    const start = Date.UTC(year, 0, 1) / 1000;
    if (date[0] === 'J') {
      const isLeap = new Date(Date.UTC(year, 1, 29)).getUTCMonth() === 1, n = Number(date.slice(1));
      return start + (n - 1 + (isLeap && n >= 60 ? 1 : 0)) * 86400 + at;
    }
    if (date[0] !== 'M') return start + Number(date) * 86400 + at;
    const [month, week, weekday] = date.slice(1).split('.').map(Number);
    const first = new Date(Date.UTC(year, month - 1, 1)).getUTCDay();
    let n = 1 + ((weekday - first + 7) % 7) + (week - 1) * 7;
    const days = new Date(Date.UTC(year, month, 0)).getUTCDate();
    while (n > days) n -= 7;
    return Date.UTC(year, month - 1, n) / 1000 + at;
  };

  const byRule = (rule, time) => {
    if (!rule.summer) return rule.standard;
    const year = new Date((time + rule.standard.offset) * 1000).getUTCFullYear();
    const begins = changeIn(year, rule.from) - rule.standard.offset, ends = changeIn(year, rule.to) - rule.summer.offset;
    const isSummer = begins < ends ? time >= begins && time < ends : !(time >= ends && time < begins);
    return isSummer ? rule.summer : rule.standard;
  };

  // the second, 64-bit part of a compiled zone (RFC 9636)
  const parse = (bytes) => {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const counts = (at) => [0, 1, 2, 3, 4, 5].map((i) => view.getUint32(at + 20 + i * 4));
    let [utc, std, leap, moves, types, letters] = counts(0);
    let at = 44 + moves * 5 + types * 6 + letters + leap * 8 + std + utc;
    [utc, std, leap, moves, types, letters] = counts(at);
    at += 44;
    const times = Array.from({ length: moves }, (_, i) => Number(view.getBigInt64(at + i * 8)));
    const kinds = Array.from({ length: moves }, (_, i) => bytes[at + moves * 8 + i]);
    at += moves * 9;
    const text = $.decode(bytes.subarray(at + types * 6, at + types * 6 + letters), false);
    const list = Array.from({ length: types }, (_, i) => {
      const start = bytes[at + i * 6 + 5];
      return { offset: view.getInt32(at + i * 6), summer: bytes[at + i * 6 + 4] === 1, name: text.slice(start, text.indexOf('\0', start)) };
    });
    at += types * 6 + letters + leap * 12 + std + utc;
    const rule = parseRule($.decode(bytes.subarray(at), false).trim());
    return { times, kinds, list, rule };
  };

  // {offset, name, summer} at a moment in milliseconds
  const lookUp = ({ times, kinds, list, rule }, ms) => {
    const time = Math.floor(ms / 1000);
    if (times.length === 0 || time < times[0]) return times.length === 0 && rule ? byRule(rule, time) : list[0];
    if (rule && time >= times[times.length - 1]) return byRule(rule, time);
    let low = 0, high = times.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (times[middle] <= time) low = middle;
      else high = middle - 1;
    }
    return list[kinds[low]];
  };

  const named = (part) => part.replace(/[^_/-]+/g, (word) => word[0].toUpperCase() + word.slice(1).toLowerCase());
  const read = (name) => {
    // names are case-insensitive; most are in title case
    const title = named(name);
    for (const spelling of [name, title, title.replace(/^..(?=\/)/, (word) => word.toUpperCase()), name.toUpperCase()]) {
      const data = $.readFile(`/lib/zoneinfo/${spelling}`);
      if (typeof data !== 'string') return { name: spelling, ...parse(new Uint8Array(data)) };
    }
    return undefined;
  };

  // A zone by name: {name, at(ms)}; undefined if it does not exist.
  $.zone = (name) => {
    if (!zones.has(name)) {
      let zone;
      const fixed = /^([+-])(\d\d)(?::?(\d\d))?$/.exec(name);
      if (fixed) {
        const offset = (fixed[1] === '-' ? -1 : 1) * (Number(fixed[2]) * 3600 + Number(fixed[3] ?? 0) * 60);
        zone = { name: `${fixed[1]}${fixed[2]}:${fixed[3] ?? '00'}`, at: () => ({ offset, name: '', summer: false }) };
      } else if (/^(?:utc|gmt|etc\/utc|etc\/gmt|z|etc\/zulu|zulu|universal)$/i.test(name)) {
        zone = { name: 'UTC', at: () => ({ offset: 0, name: 'UTC', summer: false }) };
      } else if (/^[A-Za-z0-9_+-]+(?:\/[A-Za-z0-9_+-]+){0,2}$/.test(name) && name.length < 64) {
        const rules = read(name);
        if (rules) zone = { name: rules.name, at: (ms) => lookUp(rules, ms) };
      }
      zones.set(name, zone);
    }
    return zones.get(name);
  };
};
