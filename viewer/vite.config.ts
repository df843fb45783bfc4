import { defineConfig } from "vitest/config";

// One script and one style sheet with fixed names: the Python package serves them, and a clip holds them inside.
export default defineConfig({
  base: "./",
  publicDir: "public",
  build: {
    outDir: "../src/tickmind/viewer/page",
    emptyOutDir: true,
    target: "es2022",
    modulePreload: false,
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 2000,
    rollupOptions: {
      output: {
        inlineDynamicImports: true,
        entryFileNames: "assets/viewer.js",
        assetFileNames: "assets/[name][extname]",
      },
    },
  },
  test: { include: ["test/**/*.test.ts"], environment: "node" },
});
