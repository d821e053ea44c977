return { ...args, text: args.text.toUpperCase() };
