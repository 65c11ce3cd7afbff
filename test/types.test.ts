import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";

const modules = fileURLToPath(new URL("../node_modules", import.meta.url));

/** What the compiler says about a program that imports these packages. */
function compile(packages: readonly string[], options: object): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "types-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  symlinkSync(modules, join(folder, "node_modules"));
  const program = packages.map(
    (name, index) => `import * as used${index} from "${name}";\nconsole.log(used${index});\n`,
  );
  writeFileSync(join(folder, "program.mts"), program.join(""));
  const compilerOptions = {
    module: "nodenext",
    target: "es2023",
    types: ["node"],
    strict: true,
    noEmit: true,
    ...options,
  };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["program.mts"] }));
  return new Promise((resolve) => {
    execFile(process.execPath, [join(modules, "typescript/bin/tsc"), "-p", folder], (_, stdout) => resolve(stdout));
  });
}

const toolServer = ["", "/auth", "/config", "/why"].map((entry) => `@wirescope/tool-server${entry}`);
const others = ["@wirescope/channelz", "@wirescope/gateway", "@wirescope/instrument"];

test.each<[string, readonly string[], object]>([
  ["tool-server without DOM and skipLibCheck", toolServer, { lib: ["ES2023"], skipLibCheck: false }],
  ["the others without DOM", others, { lib: ["ES2023"], skipLibCheck: true }],
  ["the others without skipLibCheck", others, { lib: ["ES2023", "DOM"], skipLibCheck: false }],
])(
  "compiles a program that uses the types of %s, as their READMEs say",
  async (_, packages, options) => {
    expect(await compile(packages, options)).toBe("");
  },
  60_000,
);
