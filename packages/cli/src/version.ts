import { readFileSync } from "node:fs";

/** The version of this package. */
export function version(): string {
  const manifest: { version: string } = JSON.parse(readFileSync(new URL("package.json", packageRoot), "utf8"));
  return manifest.version;
}

/** The folder of this package. The relative path works from both `dist` and `bundle`. */
export const packageRoot: URL = new URL("..", import.meta.url);
