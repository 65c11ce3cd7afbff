import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("..", import.meta.url));

test("the lint rules of this workspace refuse a cycle of imports", async () => {
  const directory = await mkdtemp(join(tmpdir(), "import-cycles-"));
  try {
    const { $schema: _, vcs: __, ...config } = JSON.parse(await readFile(join(root, "biome.json"), "utf8"));
    await writeFile(join(directory, "biome.json"), JSON.stringify({ ...config, formatter: { enabled: false } }));
    await writeFile(join(directory, "a.ts"), 'import { b } from "./b.js";\n\nexport const a = (): number => b();\n');
    await writeFile(join(directory, "b.ts"), 'import { a } from "./a.js";\n\nexport const b = (): number => a();\n');
    const { code, output } = await lint(directory);
    expect(output).toContain("a.ts:1:19 lint/suspicious/noImportCycles");
    expect(code).toBe(1);
  } finally {
    await rm(directory, { recursive: true });
  }
});

function lint(directory: string): Promise<{ code: number; output: string }> {
  const biome = join(root, "node_modules", "@biomejs", "biome", "bin", "biome");
  return new Promise((resolve) => {
    execFile(process.execPath, [biome, "lint", "."], { cwd: directory }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), output: stdout + stderr });
    });
  });
}
