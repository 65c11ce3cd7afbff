import { execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";

const bin = fileURLToPath(new URL("../packages/cli/bin", import.meta.url));
const { NODE_OPTIONS: _, XDG_CACHE_HOME: __, ...inherited } = process.env;

/** A bundle: a script, and its hash in the last line. */
const withHash = (script: string): string => `${script}\n// ${createHash("sha256").update(script).digest("hex")}\n`;
const sourceOf = (word: string): string =>
  withHash(`(function (exports) { exports.runProcess = async () => { process.stdout.write("${word}"); }; })`);
const honest = sourceOf("good");
// V8 compares lengths only.
const hostile = sourceOf("evil");

let folder: string;
let home: string;
let cache: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "wirescope-cache-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  home = join(folder, "home");
  cache = join(home, ".cache", "wirescope");
  mkdirSync(join(home, ".cache"), { recursive: true });
  mkdirSync(join(folder, "bundle"));
  cpSync(bin, join(folder, "bin"), { recursive: true });
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  writeFileSync(join(folder, "bundle", "wirescope.cjs"), honest);
});

/** The output of the command, with a bundle that prints one word. */
function run(env: Record<string, string> = {}): string {
  const options = { encoding: "utf8", env: { ...inherited, HOME: home, ...env } } as const;
  return execFileSync(process.execPath, [join(folder, "bin", "wirescope.js")], options);
}

/** The compiled code of the hostile source, which a test copies to a place that the command might read. */
const planted = join(mkdtempSync(join(tmpdir(), "wirescope-planted-")), "code");

beforeAll(() => {
  // Run first, because V8 keeps only functions that it has compiled.
  const program = `const { Script } = require("node:vm");
    const script = new Script(${JSON.stringify(hostile)});
    const loaded = {};
    script.runInThisContext()(loaded);
    loaded.runProcess();
    const data = script.createCachedData();
    const hash = require("node:crypto").createHash("sha256").update(data).digest();
    require("node:fs").writeFileSync(${JSON.stringify(planted)}, Buffer.concat([data, hash]), { mode: 0o600 });`;
  execFileSync(process.execPath, ["--eval", program], { env: inherited });
});
afterAll(() => rmSync(dirname(planted), { recursive: true }));

/** The name of the cached code of this bundle, as it was last written. */
const nameOf = (source: string): string => {
  const { ctimeMs } = statSync(join(folder, "bundle", "wirescope.cjs"));
  return `${source.slice(-65, -1)}-${ctimeMs}-${process.version}-${process.arch}-command.v8`;
};

describe("the compile cache", () => {
  test("ignores a cache next to the bundle, as if it had been published", () => {
    cpSync(planted, join(folder, "bundle", "wirescope.cjs.cache"));
    expect(run()).toBe("good");
  });

  test("keeps compiled code for the next run where only the user can write, named after the source", () => {
    const bundle = join(folder, "bundle", "wirescope.cjs");
    // As npm installs all files.
    const setTime = (): void => utimesSync(bundle, 499_162_500, 499_162_500);
    setTime();
    expect(run()).toBe("good");
    expect(readdirSync(cache)).toEqual([nameOf(honest)]);
    expect(statSync(cache).mode & 0o777).toBe(0o700);
    expect(statSync(join(cache, nameOf(honest))).mode & 0o777).toBe(0o600);
    // It is used: this one prints another word.
    cpSync(planted, join(cache, nameOf(honest)));
    expect(run()).toBe("evil");
    // Another build has another hash.
    writeFileSync(bundle, sourceOf("next"));
    setTime();
    expect(run()).toBe("next");
    // Edited by hand, the hash stays, and tools such as "cp -p" restore the time.
    writeFileSync(bundle, sourceOf("next").replace("next", "mine"));
    setTime();
    expect(run()).toBe("mine");
  });

  test("ignores a damaged file, as after a power failure, and replaces it", () => {
    expect(run()).toBe("good");
    const file = join(cache, nameOf(honest));
    const whole = readFileSync(file);
    for (const at of [0, whole.length >> 1, whole.length - 8]) {
      const damaged = Buffer.from(whole).fill(0xff, at, at + 8);
      writeFileSync(file, damaged);
      expect(run()).toBe("good");
      expect(readFileSync(file).equals(damaged)).toBe(false);
    }
    writeFileSync(file, "");
    expect(run()).toBe("good");
    expect(statSync(file).size).toBeGreaterThan(0);
  });

  test("caches nothing for a bundle without a hash", () => {
    writeFileSync(join(folder, "bundle", "wirescope.cjs"), honest.slice(0, -2));
    expect(run()).toBe("good");
    expect(existsSync(cache)).toBe(false);
  });

  test.each<[string, () => void]>([
    ["others can write to the folder", () => chmodSync(cache, 0o777)],
    ["others can write to the file", () => chmodSync(join(cache, nameOf(honest)), 0o666)],
    ...(process.getuid?.() === 0
      ? [
          ["the folder belongs to another user", () => chownSync(cache, 12_345, 12_345)] as [string, () => void],
          ["the file belongs to another user", () => chownSync(join(cache, nameOf(honest)), 12_345, 12_345)] as [
            string,
            () => void,
          ],
        ]
      : []),
  ])("ignores the cache if %s", (__, spoil) => {
    mkdirSync(cache, { mode: 0o700 });
    cpSync(planted, join(cache, nameOf(honest)));
    spoil();
    expect(run()).toBe("good");
  });

  test.each([
    ["one", ["--wasm-tiering-budget=1000000000"]],
    [
      "all",
      [
        "--wasm-tiering-budget=1000000000",
        "--max-inlined-bytecode-size-cumulative=3000",
        "--max-inlined-bytecode-size-small=100",
      ],
    ],
  ])("accepts the cache in the next run of a command that changes %s of the V8 flags after it starts", (_, flags) => {
    const source = withHash(`(function (exports, require) {
      exports.runProcess = async () => {
        for (const flag of ${JSON.stringify(flags)}) require("node:v8").setFlagsFromString(flag);
      };
    })`);
    writeFileSync(join(folder, "bundle", "wirescope.cjs"), source);
    run();
    const file = join(cache, nameOf(source));
    const { ino } = statSync(file);
    run();
    // A rejected one is written again, as another file.
    expect(statSync(file).ino).toBe(ino);
  });

  test("does not write to a folder that others can write to", () => {
    mkdirSync(cache);
    chmodSync(cache, 0o777);
    expect(run()).toBe("good");
    expect(readdirSync(cache)).toEqual([]);
  });

  test("runs with a home that is missing, is a file, or has no cache folder", () => {
    rmSync(join(home, ".cache"), { recursive: true });
    expect(run()).toBe("good");
    expect(existsSync(join(home, ".cache"))).toBe(false);
    expect(run({ HOME: join(folder, "missing") })).toBe("good");
    expect(run({ HOME: join(folder, "package.json") })).toBe("good");
    expect(run({ XDG_CACHE_HOME: "/proc" })).toBe("good");
  });
});

test("says what to run if the command of a checkout is not built", () => {
  rmSync(join(folder, "bundle", "wirescope.cjs"));
  const { status, stderr } = spawnSync(process.execPath, [join(folder, "bin", "wirescope.js")], { encoding: "utf8" });
  expect({ status, stderr }).toEqual({
    status: 1,
    stderr: "wirescope: The command is not built yet. Run npm run build in its checkout first.\n",
  });
});
