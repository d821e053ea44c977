// Task: retry a failing call three times, then give up
// Want: {"attempts":3,"error":true}
let attempts = 0;
async function retry(fn, n = 3) {
  for (let i = 0; ; i++) {
    try {
      attempts++;
      return await fn();
    } catch (e) {
      if (i + 1 >= n) throw e;
      await new Promise((r) => setTimeout(r, 5 * 2 ** i));
    }
  }
}
let error = false;
try {
  await retry(() => tools.crm.get_customer({ id: 1234 }));
} catch {
  error = true;
}
return { attempts, error };
