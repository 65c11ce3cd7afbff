import { writeFileSync } from "node:fs";
import { join } from "node:path";

/** A stdio server whose tool has the description that is set. */
export interface ChangingServer {
  readonly entry: { readonly command: string; readonly args: readonly string[] };
  describe(text: string): void;
}

const program = `import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method } = JSON.parse(line);
  const description = readFileSync(new URL("description.txt", import.meta.url), "utf8");
  const results = {
    initialize: { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name: "shop", version: "1" } },
    "tools/list": { tools: [{ name: "pay", description, inputSchema: { type: "object" } }] },
  };
  const response = results[method] ? { result: results[method] } : { error: { code: -32601, message: "no" } };
  if (id !== undefined) process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, ...response }) + "\\n");
});
`;

/** Writes the program of the server into a folder. */
export function writeChangingServer(folder: string, text: string): ChangingServer {
  const file = join(folder, "shop.mjs");
  writeFileSync(file, program);
  const describe = (next: string): void => writeFileSync(join(folder, "description.txt"), next);
  describe(text);
  return { entry: { command: process.execPath, args: [file] }, describe };
}
