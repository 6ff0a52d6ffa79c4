int library;
