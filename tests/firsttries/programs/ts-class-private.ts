// Task: a cache of customers; count the real calls
// Want: {"name":"Delta Inc","calls":1}
class CustomerCache {
  private readonly byID = new Map<number, any>();
  public calls = 0;

  constructor(private readonly load: (id: number) => Promise<any>) {}

  async get(id: number): Promise<any> {
    if (!this.byID.has(id)) {
      this.calls += 1;
      this.byID.set(id, await this.load(id));
    }
    return this.byID.get(id)!;
  }
}

const cache = new CustomerCache((id) => tools.crm.get_customer({ id }));
await cache.get(4);
const c = await cache.get(4);
return { name: c.name, calls: cache.calls };
