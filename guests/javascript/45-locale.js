// A subset of Intl: numbers, dates, lists, plurals, collation, segments. Text is
// that of en-US.
($) => {
  const narrowSymbols = { USD: '$', CAD: '$', AUD: '$', NZD: '$', MXN: '$', HKD: '$', SGD: '$', TWD: '$', ARS: '$', CLP: '$', COP: '$', EUR: '€', GBP: '£', JPY: '¥', CNY: '¥',
    KRW: '₩', INR: '₹', BRL: 'R$', ILS: '₪', VND: '₫', RUB: '₽', TRY: '₺', UAH: '₴', PLN: 'zł', CZK: 'Kč', SEK: 'kr', NOK: 'kr', DKK: 'kr', PHP: '₱', THB: '฿', ZAR: 'R', NGN: '₦' };
  const currencyNames = { USD: 'US dollar', EUR: 'euro', GBP: 'British pound', CAD: 'Canadian dollar', AUD: 'Australian dollar', NZD: 'New Zealand dollar',
    CHF: 'Swiss franc', INR: 'Indian rupee', MXN: 'Mexican peso', JPY: ['Japanese yen'], CNY: ['Chinese yuan'], KRW: ['South Korean won'] };
  const noCents = new Set(['JPY', 'KRW', 'VND', 'CLP', 'ISK', 'XAF']);
  const units = { 'kilometer-per-hour': 'km/h', 'mile-per-hour': 'mph', 'meter-per-second': 'm/s', kilometer: 'km', meter: 'm', centimeter: 'cm', mile: 'mi', kilogram: 'kg', gram: 'g', liter: 'L', percent: '%',
    byte: 'byte', kilobyte: 'kB', megabyte: 'MB', gigabyte: 'GB', terabyte: 'TB', second: 'sec', minute: 'min', hour: 'hr',
    day: 'day', week: 'wk', month: 'mth', year: 'yr', celsius: '°C', fahrenheit: '°F', millisecond: 'ms' };

  // ---- numbers ----
  // Rounds half away from zero on the decimal digits that the number shows.
  const toFixedDigits = (n, digits) => {
    if (digits >= 100 || n >= 1e21) return n.toFixed(Math.min(digits, 100));
    const text = String(n);
    if (text.includes('e')) return n.toFixed(digits);
    const [whole, part = ''] = text.split('.');
    if (part.length <= digits) return digits > 0 ? `${whole}.${part.padEnd(digits, '0')}` : whole;
    const up = part.charCodeAt(digits) >= 0x35;
    const kept = BigInt(whole + part.slice(0, digits)) + (up ? 1n : 0n);
    const all = kept.toString().padStart(digits + 1, '0');
    return digits > 0 ? `${all.slice(0, -digits)}.${all.slice(-digits)}` : all;
  };
  const grouped = (whole, least, indian) => (whole.length < 3 + least ? whole : whole.replace(indian ? /\B(?=(?:\d{2})*\d{3}$)/g : /\B(?=(?:\d{3})+$)/g, ','));
  const plainDigits = (n) => {
    if (typeof n === 'bigint') return n.toString();
    const text = String(n);
    return text.includes('e') ? (n >= 1 ? BigInt(Math.round(n)).toString() : n.toFixed(20).replace(/0+$/, '')) : text;
  };

  const significant = (n, least, most) => {
    if (n === 0) return least > 1 ? `0.${'0'.repeat(least - 1)}` : '0';
    const exact = n.toPrecision(Math.min(most, 100));
    let text = exact.includes('e') ? plainDigits(Number(exact)) : exact;
    if (text.includes('.')) {
      const digits = text.replace(/^0\.0*|\./g, '').length;
      let drop = digits - least;
      while (drop-- > 0 && text.endsWith('0')) text = text.slice(0, -1);
      text = text.replace(/\.$/, '');
    }
    return text;
  };

  const currencyName = (code, one) => {
    const name = currencyNames[code];
    if (name === undefined) {
      const error = new RangeError(`the name of the currency ${code} is not available`);
      $.define(error, 'hint', "currencyDisplay: 'code' shows its letters");
      throw error;
    }
    return typeof name === 'string' ? name + (one ? '' : 's') : name[0];
  };

  class NumberFormat {
    #o; #l;
    constructor(locale, options = {}) {
      const o = { style: 'decimal', notation: 'standard', useGrouping: true, ...options };
      this.#l = $.numbersOf(locale);
      if (!this.#l.tag.startsWith('en') && (o.notation === 'compact' || o.style === 'unit' || o.currencyDisplay === 'name')) {
        throw $.refuseLocale('Intl.NumberFormat with words (compact, unit, currency names)', this.#l.tag);
      }
      if (o.style === 'currency' && typeof o.currency !== 'string') throw new TypeError('Currency code is required with currency style.');
      if (o.currency) o.currency = o.currency.toUpperCase();
      const cents = o.style === 'currency' ? (noCents.has(o.currency) ? 0 : 2) : 0;
      const compact = o.notation === 'compact';
      const least = o.minimumFractionDigits ?? (o.style === 'currency' && !compact ? Math.min(cents, o.maximumFractionDigits ?? cents) : 0);
      const most = o.maximumFractionDigits ?? Math.max(least, o.style === 'currency' ? (compact ? 0 : cents) : o.style === 'percent' ? 0 : compact ? 0 : 3);
      for (const n of [least, most]) {
        if (!(n >= 0 && n <= 100)) throw new RangeError('maximumFractionDigits value is out of range.');
      }
      if (least > most) throw new RangeError('maximumFractionDigits value is out of range.');
      this.#o = { ...o, least, most, defaulted: options.maximumFractionDigits === undefined && options.minimumFractionDigits === undefined };
      this.format = this.format.bind(this);
    }
    format(value) { return this.formatToParts(value).map((part) => part.value).join(''); }
    #digits(n) {
      const o = this.#o;
      let text;
      if (o.maximumSignificantDigits !== undefined || o.minimumSignificantDigits !== undefined) {
        text = significant(Number(n), o.minimumSignificantDigits ?? 1, o.maximumSignificantDigits ?? 21);
      } else if (typeof n === 'bigint') text = o.least > 0 ? `${n}.${'0'.repeat(o.least)}` : String(n);
      else {
        text = toFixedDigits(n, o.most);
        if (text.includes('e')) text = plainDigits(n);
        while (text.includes('.') && text.endsWith('0') && text.length - text.indexOf('.') - 1 > o.least) text = text.slice(0, -1);
        text = text.replace(/\.$/, '');
      }
      let [whole, part] = text.split('.');
      if (o.minimumIntegerDigits) whole = whole.padStart(o.minimumIntegerDigits, '0');
      return [whole, part];
    }
    formatToParts(value) {
      const o = this.#o, l = this.#l;
      let n = typeof value === 'bigint' ? value : Number(value);
      const parts = [];
      let negative = n < 0 || Object.is(n, -0);
      if (negative) n = -n;
      if (o.style === 'percent') n = Number(n) * 100;
      let suffix = '';
      if (o.notation === 'compact') {
        const steps = o.compactDisplay === 'long' ? ['', ' thousand', ' million', ' billion', ' trillion'] : l.tag === 'en-GB' ? ['', 'k', 'm', 'bn', 'tn'] : ['', 'K', 'M', 'B', 'T'];
        let step = 0, scaled = Number(n);
        while (scaled >= 999.5 && step < 4) {
          scaled /= 1000;
          step++;
        }
        n = o.defaulted ? (scaled < 100 ? Number(scaled.toPrecision(2)) : Math.round(scaled)) : scaled;
        suffix = steps[step];
        if (o.defaulted && n < 100 && !Number.isInteger(n)) parts.fraction = 1;
      }
      let whole, fraction;
      if (Number.isNaN(n)) [whole, negative] = ['NaN', false];
      else if (n === Infinity) whole = '∞';
      else {
        if (parts.fraction) [whole, fraction] = String(n).split('.');
        else [whole, fraction] = this.#digits(n);
        if (o.useGrouping !== false && o.useGrouping !== 'false') whole = grouped(whole, o.useGrouping === 'min2' || o.notation === 'compact' ? 2 : l.least, l.indian);
      }
      delete parts.fraction;
      const zero = /^[0,]*$/.test(whole) && !/[1-9]/.test(fraction ?? '');
      const shown = o.signDisplay;
      const showMinus = negative && shown !== 'never' && !((shown === 'exceptZero' || shown === 'negative') && zero);
      const showPlus = !negative && (shown === 'always' || (shown === 'exceptZero' && !zero));
      const accounting = showMinus && o.currencySign === 'accounting' && o.style === 'currency';
      const money = o.style === 'currency' && o.currencyDisplay !== 'name', inside = money && l.minusInside;
      const sign = () => {
        if (accounting) parts.push({ type: 'literal', value: '(' });
        else if (showMinus) parts.push({ type: 'minusSign', value: l.minus });
        else if (showPlus) parts.push({ type: 'plusSign', value: '+' });
      };
      if (!inside) sign();
      let symbol = '';
      if (money) {
        const usual = l.symbols[o.currency] ?? o.currency;
        symbol = o.currencyDisplay === 'code' ? o.currency : o.currencyDisplay === 'narrowSymbol' ? (narrowSymbols[o.currency] ?? usual) : usual;
        if (l.place !== 'after') {
          parts.push({ type: 'currency', value: symbol });
          // de-CH closes up before a minus
          if (!(l.tag === 'de-CH' && showMinus) && (l.place === 'Before' || /\p{L}$/u.test(symbol))) parts.push({ type: 'literal', value: '\u00a0' });
        }
      }
      if (inside) sign();
      if (o.style === 'percent' && l.percentFirst) parts.push({ type: 'percentSign', value: '%' });
      whole.split(',').forEach((group, i) => {
        if (i > 0) parts.push({ type: 'group', value: (money && l.moneyGroup) || l.group });
        parts.push({ type: whole === 'NaN' ? 'nan' : whole === '∞' ? 'infinity' : 'integer', value: group });
      });
      if (fraction !== undefined) parts.push({ type: 'decimal', value: l.decimal }, { type: 'fraction', value: fraction });
      if (suffix) parts.push({ type: 'compact', value: suffix });
      if (o.style === 'percent' && !l.percentFirst) {
        if (l.percent.length > 1) parts.push({ type: 'literal', value: l.percent.slice(0, -1) });
        parts.push({ type: 'percentSign', value: '%' });
      }
      if (money && l.place === 'after') parts.push({ type: 'literal', value: '\u00a0' }, { type: 'currency', value: symbol });
      if (o.style === 'currency' && o.currencyDisplay === 'name') parts.push({ type: 'literal', value: ' ' }, { type: 'currency', value: currencyName(o.currency, whole === '1' && !fraction) });
      if (o.style === 'unit') {
        const one = whole === '1' && fraction === undefined;
        const long = o.unitDisplay === 'long';
        const name = long ? o.unit + (one ? '' : 's') : units[o.unit] ?? o.unit;
        const plural = !long && ['day', 'byte', 'wk', 'mth', 'yr'].includes(name) && !one ? 's' : '';
        const space = /^[%°]/.test(name) || (o.unitDisplay === 'narrow') ? '' : ' ';
        parts.push({ type: 'literal', value: space }, { type: 'unit', value: name + plural });
      }
      if (accounting) parts.push({ type: 'literal', value: ')' });
      return parts;
    }
    resolvedOptions() { return { locale: this.#l.tag, numberingSystem: 'latn', ...this.#o }; }
    static supportedLocalesOf(list) { return [list ?? []].flat().filter((tag) => { try { return Boolean(new this(tag)); } catch { return false; } }); }
  }

  // ---- dates ----
  const months = ['January', 'February', 'March', 'April', 'May', 'June', 'July', 'August', 'September', 'October', 'November', 'December'];
  const days = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];
  const styles = {
    date: { full: { weekday: 'long', year: 'numeric', month: 'long', day: 'numeric' }, long: { year: 'numeric', month: 'long', day: 'numeric' },
      medium: { year: 'numeric', month: 'short', day: 'numeric' }, short: { year: '2-digit', month: 'numeric', day: 'numeric' } },
    time: { full: { hour: 'numeric', minute: '2-digit', second: '2-digit', timeZoneName: 'long' }, long: { hour: 'numeric', minute: '2-digit', second: '2-digit', timeZoneName: 'short' },
      medium: { hour: 'numeric', minute: '2-digit', second: '2-digit' }, short: { hour: 'numeric', minute: '2-digit' } },
  };
  const zoneOf = (name) => {
    const zone = $.zone(name === undefined ? 'UTC' : String(name));
    if (!zone) throw new RangeError(`Invalid time zone specified: ${name}`);
    return zone;
  };
  // English names of zones: short names of American zones, long names of common
  // ones; the others are shown as offsets.
  const american = /^(?:[ECMPH]|AK)[SD]T$/;
  const longNames = { EST: 'Eastern Standard Time', EDT: 'Eastern Daylight Time', CST: 'Central Standard Time', CDT: 'Central Daylight Time',
    MST: 'Mountain Standard Time', MDT: 'Mountain Daylight Time', PST: 'Pacific Standard Time', PDT: 'Pacific Daylight Time',
    AKST: 'Alaska Standard Time', AKDT: 'Alaska Daylight Time', HST: 'Hawaii-Aleutian Standard Time', UTC: 'Coordinated Universal Time',
    GMT: 'Greenwich Mean Time', BST: 'British Summer Time', CET: 'Central European Standard Time', CEST: 'Central European Summer Time',
    EET: 'Eastern European Standard Time', EEST: 'Eastern European Summer Time', JST: 'Japan Standard Time', AEST: 'Australian Eastern Standard Time',
    AEDT: 'Australian Eastern Daylight Time', NZST: 'New Zealand Standard Time', NZDT: 'New Zealand Daylight Time' };
  const zoneName = (zone, ms, style) => {
    const { offset, name } = zone.at(ms), own = name !== 'CST' || /^(?:America|US)\//.test(zone.name);
    if (style === 'long' && own && longNames[name] && !(name === 'BST' && offset !== 3600)) return longNames[name];
    if (style === 'long' && name === 'IST' && offset === 19800) return 'India Standard Time';
    if (style === 'long' && name === 'CST' && offset === 28800) return 'China Standard Time';
    if (style === 'short' && (name === 'UTC' || (american.test(name) && own))) return name;
    const minutes = Math.abs(Math.trunc(offset / 60)), sign = offset < 0 ? '-' : '+';
    if (offset === 0) return 'GMT';
    const hours = Math.floor(minutes / 60), rest = String(minutes % 60).padStart(2, '0');
    if (style.startsWith('long')) return `GMT${sign}${String(hours).padStart(2, '0')}:${rest}`;
    return `GMT${sign}${hours}${rest === '00' ? '' : `:${rest}`}`;
  };

  // Locales whose numeric dates programs use: the separator of the parts,
  // their order, least digits, the separator before the time, whether a lone digit
  // may be an hour, and the words of a clock of twelve hours.
  const orders = { 'en-CA': ['-', 'ymd', 2, ', ', false, ['a.m.', 'p.m.']], 'en-AU': ['/', 'dmy', 2, ', ', false, ['am', 'pm']], 'en-IN': ['/', 'dmy', 1, ', ', false, ['am', 'pm']],
    'en-GB': ['/', 'dmy', 2, ', '], 'en-IE': ['/', 'dmy', 1, ', '], 'sv-SE': ['-', 'ymd', 2, ' '], 'de-DE': ['.', 'dmy', 1, ', '],
    'fr-FR': ['/', 'dmy', 2, ' '], 'es-ES': ['/', 'dmy', 1, ', ', true], 'it-IT': ['/', 'dmy', 2, ', '], 'nl-NL': ['-', 'dmy', 1, ', '],
    'pt-BR': ['/', 'dmy', 2, ', '], 'ja-JP': ['/', 'ymd', 1, ' ', true], 'zh-CN': ['/', 'ymd', 1, ' '] };
  for (const tag of Object.keys(orders)) if (!tag.startsWith('en')) orders[tag.slice(0, 2)] = orders[tag];
  orders['de-AT'] = orders['de-CH'] = orders['de-DE'];
  const asAmericans = new Set(['en', 'en-US']), wordy = new Set(['en', 'en-US', 'en-CA', 'en-GB']);
  const pad = (n, style) => (style === '2-digit' ? String(n % 100).padStart(2, '0') : String(n));

  class DateTimeFormat {
    #o; #zone; #order; #tag;
    constructor(locale, options = {}) {
      let o = { ...options };
      const tag = $.localeOf(locale);
      this.#order = orders[tag];
      if (tag === 'en-GB' && o.dateStyle === 'short') o = { year: 'numeric', ...o };
      if (o.dateStyle || o.timeStyle) o = { ...(styles.date[o.dateStyle] ?? {}), ...(styles.time[o.timeStyle] ?? {}), ...o };
      const asked = ['weekday', 'year', 'month', 'day', 'hour', 'minute', 'second', 'dayPeriod', 'fractionalSecondDigits'].some((key) => o[key] !== undefined);
      if (!asked) o = { ...o, year: 'numeric', month: 'numeric', day: 'numeric' };
      const words = o.weekday || ['long', 'short', 'narrow'].includes(o.month) || o.era || (o.dateStyle && !wordy.has(tag));
      if (words ? !wordy.has(tag) : !this.#order && !asAmericans.has(tag)) {
        const error = new RangeError(`Intl.DateTimeFormat does not know ${words ? 'the words of ' : ''}the locale '${tag}'`);
        $.define(error, 'hint', 'names of months and days are available in en-US, en-GB and en-CA only, numeric dates also in de, fr, es, it, nl, pt-BR, sv, ja and zh');
        throw error;
      }
      this.#zone = zoneOf(o.timeZone);
      this.#o = o;
      this.#tag = tag;
      this.format = this.format.bind(this);
    }
    format(date) { return this.formatToParts(date).map((part) => part.value).join(''); }
    formatToParts(date = new Date()) {
      const time = Number(date instanceof Date ? date.getTime() : date);
      if (Number.isNaN(time)) throw new RangeError('Invalid time value');
      const d = new Date(time + this.#zone.at(time).offset * 1000), o = this.#o, parts = [];
      const put = (type, value) => parts.push({ type, value });
      const text = (value) => { if (parts.length > 0) put('literal', value); };
      const named = o.month === 'long' || o.month === 'short' || o.month === 'narrow';
      const british = named && this.#order === orders['en-GB'];
      const numeric = this.#order && o.year && o.day && ['numeric', '2-digit'].includes(o.month) && !o.weekday;
      if (o.weekday) put('weekday', o.weekday === 'long' ? days[d.getUTCDay()] : o.weekday === 'short' ? days[d.getUTCDay()].slice(0, 3) : days[d.getUTCDay()][0]);
      const year = o.year && pad(d.getUTCFullYear(), o.year), day = o.day && pad(d.getUTCDate(), o.day);
      if (numeric) {
        const [between, order, width] = this.#order;
        [...order].forEach((letter, i) => {
          if (i > 0) put('literal', between);
          if (letter === 'y') put('year', year);
          else if (letter === 'm') put('month', String(d.getUTCMonth() + 1).padStart(o.month === '2-digit' ? 2 : width, '0'));
          else put('day', String(d.getUTCDate()).padStart(o.day === '2-digit' ? 2 : width, '0'));
        });
      } else if (british) {
        if (day) {
          text(o.weekday === 'long' || year ? ', ' : ' ');
          put('day', day);
        }
        text(day || !o.weekday ? ' ' : ', ');
        const name = months[d.getUTCMonth()];
        put('month', o.month === 'long' ? name : o.month === 'short' ? name.slice(0, 3) : name[0]);
        if (year) {
          put('literal', ' ');
          put('year', year);
        }
      } else if (o.month) {
        text(', ');
        const name = months[d.getUTCMonth()];
        put('month', o.month === 'long' ? name : o.month === 'short' ? name.slice(0, 3) : o.month === 'narrow' ? name[0] : pad(d.getUTCMonth() + 1, o.month));
      }
      if (day && !numeric && !british) {
        text(o.month ? (named ? ' ' : '/') : o.weekday ? ' ' : '');
        put('day', day);
      }
      if (year && !numeric && !british) {
        text(named ? (day ? ', ' : ' ') : o.month || day ? '/' : ', ');
        put('year', year);
      }
      const hasDate = parts.length > 0;
      if (o.hour || o.minute || o.second || o.fractionalSecondDigits) {
        if (hasDate) put('literal', o.dateStyle === 'full' || o.dateStyle === 'long' ? ' at ' : numeric ? this.#order[3] : ', ');
        const half = o.hour12 ?? !(o.hourCycle === 'h23' || o.hourCycle === 'h24' || (o.hourCycle === undefined && this.#order && !this.#order[5]));
        const hour = d.getUTCHours();
        const clock = [];
        if (o.hour) {
          const n = half ? hour % 12 || 12 : hour;
          clock.push(['hour', o.hour === '2-digit' || (!half && !(this.#order && this.#order[4])) ? String(n).padStart(2, '0') : String(n)]);
        }
        if (o.minute) clock.push(['minute', o.hour || o.second || o.minute === '2-digit' ? String(d.getUTCMinutes()).padStart(2, '0') : String(d.getUTCMinutes())]);
        if (o.second) clock.push(['second', o.minute || o.second === '2-digit' ? String(d.getUTCSeconds()).padStart(2, '0') : String(d.getUTCSeconds())]);
        clock.forEach(([type, value], i) => {
          if (i > 0) put('literal', ':');
          put(type, value);
        });
        if (o.fractionalSecondDigits) {
          if (clock.length > 0) put('literal', '.');
          put('fractionalSecond', String(d.getUTCMilliseconds()).padStart(3, '0').slice(0, o.fractionalSecondDigits));
        }
        if (o.hour && half) {
          put('literal', ' ');
          const period = hour < 12 ? 'AM' : 'PM';
          put('dayPeriod', this.#order?.[5]?.[hour < 12 ? 0 : 1] ?? period);
        }
      }
      if (o.timeZoneName) {
        text(hasDate && !o.hour ? ', ' : ' ');
        put('timeZoneName', zoneName(this.#zone, time, String(o.timeZoneName)));
      }
      return parts;
    }
    formatRange(from, to) { return `${this.format(from)} – ${this.format(to)}`; }
    resolvedOptions() { return { locale: this.#tag === 'en' ? 'en-US' : this.#tag, calendar: 'gregory', numberingSystem: 'latn', ...this.#o, timeZone: this.#zone.name }; }
    static supportedLocalesOf(list) { return [list ?? []].flat().filter((tag) => { try { return Boolean(new this(tag)); } catch { return false; } }); }
  }

  // ---- the rest ----
  class ListFormat {
    #o;
    constructor(locale, options = {}) { this.#o = options; }
    format(list) {
      const items = [...list], word = this.#o.type === 'disjunction' ? 'or' : this.#o.type === 'unit' ? '' : 'and';
      if (items.length < 2) return items.join('');
      if (!word) return items.join(', ');
      return items.length === 2 ? `${items[0]} ${word} ${items[1]}` : `${items.slice(0, -1).join(', ')}, ${word} ${items[items.length - 1]}`;
    }
  }
  class PluralRules {
    #o;
    constructor(locale, options = {}) { this.#o = options; }
    select(n) {
      if (this.#o.type !== 'ordinal') return n === 1 ? 'one' : 'other';
      const tens = n % 100, ones = n % 10;
      if (tens >= 11 && tens <= 13) return 'other';
      return ones === 1 ? 'one' : ones === 2 ? 'two' : ones === 3 ? 'few' : 'other';
    }
    resolvedOptions() { return { locale: 'en-US', type: 'cardinal', ...this.#o }; }
  }
  // Letters before case and accents, as people sort; numbers by value on demand.
  const collationKey = (text) => text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase();
  const punctuation = /[\p{P}\p{S}\p{Z}]/u;
  const classOf = (c) => (c === undefined ? 0 : punctuation.test(c) ? 1 : /\d/.test(c) ? 2 : 3);
  const compareKeys = (a, b, numeric) => {
    const x = [...a], y = [...b];
    let i = 0, j = 0;
    while (i < x.length && j < y.length) {
      if (numeric && /\d/.test(x[i]) && /\d/.test(y[j])) {
        let m = '', n = '';
        while (i < x.length && /\d/.test(x[i])) m += x[i++];
        while (j < y.length && /\d/.test(y[j])) n += y[j++];
        if (Number(m) !== Number(n)) return Number(m) < Number(n) ? -1 : 1;
        continue;
      }
      if (x[i] !== y[j]) {
        const k = classOf(x[i]) - classOf(y[j]);
        return k !== 0 ? Math.sign(k) : x[i] < y[j] ? -1 : 1;
      }
      i++;
      j++;
    }
    return Math.sign((x.length - i) - (y.length - j));
  };
  const accents = (text) => text.normalize('NFD').replace(/[^\p{M}]/gu, '');
  const compare = (one, other, o) => {
    if (one === other) return 0;
    const a = one.normalize('NFC'), b = other.normalize('NFC');
    if (a === b) return 0;
    const first = compareKeys(collationKey(a), collationKey(b), o.numeric);
    if (first !== 0 || o.sensitivity === 'base') return first;
    if (o.sensitivity !== 'case') {
      const x = accents(a), y = accents(b);
      if (x !== y) return x < y ? -1 : 1;
      if (o.sensitivity === 'accent') return 0;
    }
    for (let i = 0; i < Math.min(a.length, b.length); i++) {
      if (a[i] !== b[i]) return (a[i] === a[i].toLowerCase()) === (o.caseFirst !== 'upper') ? -1 : 1;
    }
    return Math.sign(a.length - b.length);
  };
  class Collator {
    #o;
    constructor(locale, options = {}) {
      this.#o = options ?? {};
      this.compare = (a, b) => compare(String(a), String(b), this.#o);
    }
    resolvedOptions() { return { locale: 'en-US', usage: 'sort', sensitivity: 'variant', ...this.#o }; }
  }
  class RelativeTimeFormat {
    #o;
    constructor(locale, options = {}) { this.#o = options; }
    format(value, unit) {
      const n = Number(value), name = String(unit).replace(/s$/, '');
      const near = { day: ['yesterday', 'today', 'tomorrow'], year: ['last year', 'this year', 'next year'], month: ['last month', 'this month', 'next month'],
        week: ['last week', 'this week', 'next week'], quarter: ['last quarter', 'this quarter', 'next quarter'], hour: [, 'this hour'], minute: [, 'this minute'], second: [, 'now'] };
      if (this.#o.numeric === 'auto' && near[name]?.[n + 1]) return near[name][n + 1];
      const size = Math.abs(n), text = `${new NumberFormat('en').format(size)} ${name}${size === 1 ? '' : 's'}`;
      return n < 0 || Object.is(n, -0) ? `${text} ago` : `in ${text}`;
    }
  }
  class Segmenter {
    #o;
    constructor(locale, options = {}) { this.#o = options; }
    segment(text) {
      const pattern = this.#o.granularity === 'word' ? /[\p{L}\p{N}_'’]+|\s+|[^]/gu
        : this.#o.granularity === 'sentence' ? /[^.!?]+(?:[.!?]+\s*|$)/gu
          : /\r\n|\p{RI}\p{RI}|(?:\p{Extended_Pictographic}|[^])(?:[\p{M}\u200d\ufe0f\u{1f3fb}-\u{1f3ff}]|(?<=\u200d)\p{Extended_Pictographic})*/gu;
      const list = [...String(text).matchAll(pattern)].map((m) => ({ segment: m[0], index: m.index, input: text,
        ...(this.#o.granularity === 'word' ? { isWordLike: /[\p{L}\p{N}]/u.test(m[0]) } : {}) }));
      return { [Symbol.iterator]: () => list[Symbol.iterator]() };
    }
  }

  // Intl's constructors work with and without new
  const callable = (type) => new Proxy(type, { apply: (target, self, list) => new target(...list) });
  const Intl = { DateTimeFormat: callable(DateTimeFormat), NumberFormat: callable(NumberFormat), Collator: callable(Collator), ListFormat, PluralRules,
    RelativeTimeFormat, Segmenter, getCanonicalLocales: (list) => [list ?? []].flat().map(String), supportedValuesOf: () => [] };
  $.define(Intl, Symbol.toStringTag, 'Intl');
  $.expose('Intl', Intl);

  const dateParts = { year: 'numeric', month: 'numeric', day: 'numeric' };
  const timeParts = { hour: 'numeric', minute: '2-digit', second: '2-digit' };
  const asks = (o, keys) => o && keys.some((key) => o[key] !== undefined);
  const dateKeys = ['weekday', 'year', 'month', 'day', 'dateStyle'], timeKeys = ['hour', 'minute', 'second', 'fractionalSecondDigits', 'timeStyle', 'dayPeriod'];
  const formatDate = (date, locale, o, parts) => (Number.isNaN(date.getTime()) ? 'Invalid Date' : new DateTimeFormat(locale, { ...parts, ...o }).format(date));
  const methods = {
    toLocaleDateString(locale = undefined, o = undefined) { return formatDate(this, locale, o, asks(o, dateKeys) ? {} : dateParts); },
    toLocaleTimeString(locale = undefined, o = undefined) { return formatDate(this, locale, o, asks(o, timeKeys) ? {} : timeParts); },
    toLocaleString(locale = undefined, o = undefined) { return formatDate(this, locale, o, asks(o, [...dateKeys, ...timeKeys]) ? {} : { ...dateParts, ...timeParts }); },
  };
  for (const name of ['toString', 'toTimeString']) {
    const original = Date.prototype[name];
    methods[name] = { [name]() {
      const text = original.call(this);
      return text === 'Invalid Date' ? text : `${text} (Coordinated Universal Time)`;
    } }[name];
  }
  for (const name of Object.keys(methods)) $.define(Date.prototype, name, methods[name]);
  for (const { prototype } of [Number, BigInt]) {
    const { valueOf } = prototype;
    $.define(prototype, 'toLocaleString', { toLocaleString(locale = undefined, o = {}) {
      return new NumberFormat(locale, o).format(valueOf.call(this));
    } }.toLocaleString);
  }
  const { prototype } = String;
  $.define(prototype, 'localeCompare', { localeCompare(that, locale = undefined, o = {}) {
    return compare(prototype.concat.call(this), `${that}`, o);
  } }.localeCompare);
};
