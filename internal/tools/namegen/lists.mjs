// Prints the lists of the packages in node_modules, one word a line: role, source
// and word, with tabs between them. main.go runs it.
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const require = createRequire(process.argv[2] + '/');
const lines = new Set();
const add = (role, source, value) => {
  if (typeof value === 'string') lines.add(`${role}\t${source}\t${value}`);
  else if (value instanceof Map) add(role, source, [...value.keys()]);
  else if (Array.isArray(value)) for (const v of value) add(role, source, v?.value ?? v);
  else if (value && typeof value === 'object') for (const v of Object.values(value)) add(role, source, v);
};

const { allLocales } = await import(pathToFileURL(require.resolve('@faker-js/faker')));
for (const [locale, { person = {}, location = {} }] of Object.entries(allLocales)) {
  add('first', locale, person.first_name);
  add('last', locale, person.last_name);
  for (const list of [location.city_name, location.country, location.state]) add('place', locale, list);
}

for (const language of ['de', 'en', 'es', 'fr', 'it']) {
  // The French list has tens of thousands of names, most of them rare.
  add('first', language === 'fr' ? 'rare' : language, require(`gender-detection-from-name/names/${language}.js`));
}

const chance = new (require('chance'))(1);
for (const lists of Object.values(chance.get('firstNames'))) for (const [locale, list] of Object.entries(lists)) add('first', locale, list);
for (const [locale, list] of Object.entries(chance.get('lastNames'))) add('last', locale, list);

console.log([...lines].join('\n'));
