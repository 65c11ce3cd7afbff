import { readFileSync } from "node:fs";

/** The version of this package. */
export function version(): string {
  const manifest: { version: string } = JSON.parse(readFileSync(new URL("package.json", packageRoot), "utf8"));
  return manifest.version;
}

/** The folder of this package, seen from the root of what is built and of what is bundled alike. */
export const packageRoot: URL = new URL("..", import.meta.url);
