import { readFileSync } from "node:fs";
import { packageRoot } from "./package-root.js";

/** The version of this package. */
export function version(): string {
  const manifest: { version: string } = JSON.parse(readFileSync(new URL("package.json", packageRoot), "utf8"));
  return manifest.version;
}
