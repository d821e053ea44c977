# Sentence: python
# Task: print the total mrr
# Prints: Total MRR: 1900
def main():
    page = tools.crm.list_customers(limit=100)
    total = sum(c["mrr"] for c in page["customers"])
    print(f"Total MRR: {total}")


if __name__ == "__main__":
    main()
