import { describe, expect, test } from "vitest";
import { twoColumns } from "./two-columns.js";

const rows = [
  ["--port <number>", "port to listen on; 0 selects a free one; default: 4690"],
  ["--demo", "run the demonstration"],
] as const;

describe("terms and their meanings", () => {
  test("stand side by side, in lines as long as they need to be", () => {
    expect(twoColumns(rows)).toEqual([
      "  --port <number>  port to listen on; 0 selects a free one; default: 4690",
      "  --demo           run the demonstration",
    ]);
  });

  test("are broken where the width ends", () => {
    expect(twoColumns(rows, 50)).toEqual([
      "  --port <number>  port to listen on; 0 selects a",
      "                   free one; default: 4690",
      "  --demo           run the demonstration",
    ]);
  });

  test("stand below each other where there is little room", () => {
    expect(twoColumns(rows, 30)).toEqual([
      "  --port <number>",
      "      port to listen on; 0",
      "      selects a free one;",
      "      default: 4690",
      "  --demo",
      "      run the demonstration",
    ]);
  });
});
