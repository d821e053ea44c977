# Task: draw a chart, or print the values when drawing is not possible
# Prints: Jan
try:
    import matplotlib.pyplot as plt
    plt.bar(["Jan", "Feb"], [1, 2])
    plt.savefig("/tmp/chart.png")
except ImportError:
    for month, n in zip(["Jan", "Feb"], [1, 2]):
        print(month, "#" * n)
