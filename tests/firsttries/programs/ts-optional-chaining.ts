// Task: domain of the mail address of customer 6
// Want: "foxtrot.example"
const customer: { email?: string } | undefined = await tools.crm.get_customer({ id: 6 });
return customer?.email?.split("@").at(-1) ?? "unknown";
