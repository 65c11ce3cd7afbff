import { describe, expect, test } from "vitest";
import { tellingLines } from "./telling-lines.js";

describe("of what a process wrote last", () => {
  test("the last lines are told", () => {
    expect(tellingLines(["one", "two", "three"], 2)).toEqual(["two", "three"]);
    expect(tellingLines([], 2)).toEqual([]);
  });

  test("what is wrong is told where a stack follows it, as Node writes it", () => {
    const lines = [
      "node:internal/modules/cjs/loader:1210",
      "  throw err;",
      "  ^",
      "Error: Cannot find module '/srv/plugin/server.js'",
      "    at Module._resolveFilename (node:internal/modules/cjs/loader:1207:15)",
      "    at node:internal/main/run_main_module:28:49 {",
      "  code: 'MODULE_NOT_FOUND',",
      "  requireStack: []",
      "}",
      "Node.js v20.20.2",
    ];
    expect(tellingLines(lines, 3)).toEqual([
      "Error: Cannot find module '/srv/plugin/server.js'",
      "  code: 'MODULE_NOT_FOUND',",
      "  requireStack: []",
    ]);
  });

  test("the last lines stay where they say it themselves, as Python writes it", () => {
    const lines = [
      "Traceback (most recent call last):",
      '  File "server.py", line 1, in <module>',
      "    import nothing",
      "ModuleNotFoundError: No module named 'nothing'",
    ];
    expect(tellingLines(lines, 2)).toEqual(lines.slice(-2));
  });

  test("a frame of a stack that names an error is not taken for one", () => {
    const lines = ["    at new ConfigError (config.js:10:5)", "    at main (index.js:3:1)", "done"];
    expect(tellingLines(lines, 1)).toEqual(["done"]);
  });
});
