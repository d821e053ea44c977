// Number formats by locale: separators, percent signs and currencies.
($) => {
  const nb = '\u00a0', narrow = '\u202f', apostrophe = "'", minus = '\u2212';
  // the symbols that most languages share
  const world = { USD: 'US$', EUR: '€', GBP: '£', JPY: 'JP¥', CNY: 'CN¥', INR: '₹', CAD: 'CA$', AUD: 'A$', BRL: 'R$', MXN: 'MX$', KRW: '₩',
    NZD: 'NZ$', ILS: '₪', HKD: 'HK$', TWD: 'NT$', VND: '₫', PHP: '₱', XAF: 'FCFA' };
  const symbols = (text, base = world) => ({ ...base, ...Object.fromEntries(text.split(' ').filter(Boolean).map((pair) => pair.split(':'))) });
  const own = (text) => symbols(text, {});
  const most = 'AUD:AU$ THB:฿';

  // group, decimal, digits before the first group, percent, where the currency
  // is written (before, Before with a space, after), its symbols, and what else differs
  const english = [',', '.', 1, '%', 'before'];
  const rows = {
    en: [...english, symbols('')], 'en-US': [...english, symbols('USD:$ JPY:¥')], 'en-CA': [...english, symbols('CAD:$')], 'en-AU': [...english, own('AUD:$')],
    'en-IN': [...english, symbols('USD:$'), { indian: true }], 'en-NZ': [...english, symbols('NZD:$')], 'en-ZA': [nb, ',', 1, '%', 'before', symbols('ZAR:R')],
    de: ['.', ',', 1, `${nb}%`, 'after', symbols(`USD:$ JPY:¥ ${most}`)],
    'de-AT': [nb, ',', 1, `${nb}%`, 'Before', symbols(`USD:$ JPY:¥ ${most}`), { moneyGroup: '.' }],
    'de-CH': [apostrophe, '.', 1, '%', 'Before', symbols(`USD:$ JPY:¥ EUR:EUR ${most}`), { minusInside: true }],
    fr: [narrow, ',', 1, `${nb}%`, 'after', own('USD:$US EUR:€ GBP:£GB INR:₹ CAD:$CA AUD:$AU BRL:R$ MXN:$MX KRW:₩ NZD:$NZ ILS:₪ ARS:$AR COP:$CO CLP:$CL VND:₫ SGD:$SG')],
    'fr-CA': [nb, ',', 1, `${nb}%`, 'after', own(`USD:$${nb}US EUR:€ GBP:£ JPY:¥ CNY:CN¥ CAD:$ AUD:$${nb}AU BRL:R$ NZD:$${nb}NZ HKD:$${nb}HK SGD:$${nb}SG`)],
    es: ['.', ',', 2, `${nb}%`, 'after', own('USD:US$ EUR:€ THB:฿ VND:₫')],
    'es-MX': [...english, own('MXN:$')], 'es-US': [...english, own('USD:$ JPY:¥')],
    'es-AR': ['.', ',', 1, '%', 'Before', own('USD:US$ ARS:$')], 'es-CO': ['.', ',', 1, '%', 'Before', own('USD:US$ COP:$')],
    it: ['.', ',', 2, '%', 'after', own('EUR:€ GBP:£ CNY:CN¥ CAD:CA$ AUD:A$ NZD:NZ$ ILS:₪ THB:฿')],
    pt: ['.', ',', 1, '%', 'Before', symbols(most)], 'pt-PT': [nb, ',', 2, '%', 'after', symbols(most)],
    nl: ['.', ',', 1, '%', 'Before', symbols(`CAD:C$ ${most}`), { minusInside: true }],
    sv: [nb, ',', 1, `${nb}%`, 'after', own('USD:US$ EUR:€ CAD:CA$ BRL:BR$ SEK:kr NOK:Nkr DKK:Dkr MXN:MX$ ILS:₪'), { minus }],
    nb: [nb, ',', 1, `${nb}%`, 'after', own('EUR:€ GBP:£ NOK:kr'), { minus }],
    da: ['.', ',', 1, `${nb}%`, 'after', symbols(`DKK:kr. ${most}`)],
    fi: [nb, ',', 1, `${nb}%`, 'after', own('USD:$ EUR:€ GBP:£ JPY:¥'), { minus }],
    pl: [nb, ',', 2, '%', 'after', own('EUR:€ BRL:R$ PLN:zł')],
    cs: [nb, ',', 1, `${nb}%`, 'after', own('USD:US$ EUR:€ GBP:£ JPY:JP¥ CNY:CN¥ CAD:CA$ AUD:AU$ BRL:R$ CZK:Kč MXN:MX$ KRW:₩ NZD:NZ$ HKD:HK$ TWD:NT$')],
    sk: [nb, ',', 1, `${nb}%`, 'after', own('EUR:€ MXN:MX$ ILS:NIS')], hu: [nb, ',', 2, '%', 'after', own('JPY:¥ HUF:Ft')],
    ro: ['.', ',', 1, `${nb}%`, 'after', own('')], ru: [nb, ',', 1, `${nb}%`, 'after', symbols('USD:$ JPY:¥ RUB:₽ UAH:₴ THB:฿')],
    uk: [nb, ',', 1, '%', 'after', own('JPY:¥ UAH:₴')], tr: ['.', ',', 1, '%', 'before', symbols(`USD:$ JPY:¥ TRY:₺ ${most}`), { percentFirst: true }],
    el: ['.', ',', 1, '%', 'after', symbols('USD:$ THB:฿')], ja: [...english, symbols('USD:$ JPY:￥ CNY:元')],
    zh: [...english, symbols('CNY:¥ AUD:AU$')], 'zh-TW': [...english, symbols('JPY:¥ KRW:￦ TWD:$ AUD:AU$')], ko: [...english, symbols('AUD:AU$')],
    id: ['.', ',', 1, '%', 'before', symbols(`INR:Rs IDR:Rp ${most}`)], th: [...english, symbols(`JPY:¥ ${most}`)],
    vi: ['.', ',', 1, '%', 'after', symbols(`JPY:¥ ${most}`)], hi: [...english, symbols('USD:$ THB:฿'), { indian: true }],
  };
  rows.no = rows.nb;
  // languages of the table whose other regions use another format
  const elsewhere = new Set(['fr-CH', 'it-CH', 'en-CH', 'es-CL']);

  const wanted = (locale) => {
    const first = Array.isArray(locale) ? locale[0] : locale;
    if (first === undefined) return 'en-US';
    const tag = String(first).replace(/-u-.*$/, '');
    if (first === null || typeof first === 'number' || !/^[A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8})*$/.test(tag)) throw new RangeError(`Incorrect locale information provided`);
    const [language, ...rest] = tag.split('-');
    const country = rest.find((part) => /^(?:[A-Za-z]{2}|\d{3})$/.test(part));
    return country ? `${language.toLowerCase()}-${country.toUpperCase()}` : language.toLowerCase();
  };
  const refused = (what, tag) => {
    const error = new RangeError(`${what} does not know the locale '${tag}'`);
    $.define(error, 'hint', "number formats are available for en-US and for most locales of Europe, America and East Asia; undefined means en-US");
    return error;
  };
  // {tag, group, decimal, least, percent, place, symbols, …} of a locale
  $.numbersOf = (locale) => {
    const tag = wanted(locale) === 'en' ? 'en-US' : wanted(locale), row = rows[tag] ?? (elsewhere.has(tag) ? undefined : rows[tag.split('-')[0]]);
    if (!row) throw refused('Intl.NumberFormat', tag);
    const [group, decimal, least, percent, place, signs, more] = row;
    return { tag, group, decimal, least, percent, place, symbols: signs, minus: '-', ...more };
  };
  $.localeOf = wanted;
  $.refuseLocale = refused;
};
