import { readFileSync } from "node:fs";

const page = readFileSync(new URL("../docs/switch-on.md", import.meta.url), "utf8");

/** The programs of docs/switch-on.md in a language, such as `go`, on another port. */
export function switchOnPrograms(language: string, port: number): string[] {
  return [...page.matchAll(/^```(\w+)\n(.*?)^```$/gms)].flatMap(([, name, code = ""]) =>
    name === language ? [code.replaceAll("50052", String(port))] : [],
  );
}
