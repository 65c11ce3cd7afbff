import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const packages = join(import.meta.dirname, "../..");

/** Verbs with which an advice begins. */
const imperative =
  /[.;:?!] (Add|Allow|Approve|Ask|Call|Check|Configure|Connect|Copy|Delete|End|Export|Fix|Give|Install|Look|Move|Name|Pin|Put|Raise|Register|Remove|Report|Run|Save|See|Send|Set|Sign|Start|Tell|Try|Use|Wait|Write)\b/;

/** The literals that sources give as the problem of an error, each with its file and line. */
function problemsOf(file: string): { readonly place: string; readonly problem: string }[] {
  const source = readFileSync(join(packages, file), "utf8");
  const literals = source.matchAll(/\bproblem(?::|\s=)\s*(`(?:[^`\\]|\\.)*`|"(?:[^"\\\n]|\\.)*")/g);
  return [...literals].map((literal) => ({
    place: `${file}:${source.slice(0, literal.index).split("\n").length}`,
    problem: literal[1] ?? "",
  }));
}

test("no problem of an error holds advice: that is a part of its own", () => {
  const problems = ["tool-server/src", "gateway/src", "cli/src"].flatMap((folder) =>
    readdirSync(join(packages, folder), { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".ts") && !/\.test\.(helper\.)?ts$/.test(file))
      .flatMap((file) => problemsOf(join(folder, file))),
  );
  expect(problems.length).toBeGreaterThan(100);
  expect(problems.filter(({ problem }) => imperative.test(problem))).toEqual([]);
});
