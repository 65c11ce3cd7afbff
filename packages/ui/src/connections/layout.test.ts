import fc from "fast-check";
import { expect, test } from "vitest";
import { arrange, type LayoutNode, place } from "./layout.js";

const node = (id: string, column: number, parent?: string): LayoutNode => ({ id, column, parent });

const small = [
  node("process", 0),
  node("server", -1, "process"),
  node("a", 1, "process"),
  node("b", 1, "process"),
  node("c", 1, "process"),
  node("socket", 3, "b"),
];

test("puts a parent in the middle of its children, on both sides of the process", () => {
  const layout = arrange(small);
  expect(layout.get("b")).toBe(layout.get("process"));
  expect(layout.get("server")).toBe(layout.get("process"));
  expect(layout.get("socket")).toBe(layout.get("b"));
  expect([layout.get("a"), layout.get("c")]).toEqual([0, 2]);
});

test("puts one process below the other", () => {
  const layout = arrange([...small, node("other", 0), node("x", 1, "other")]);
  expect(layout.get("other")).toBeGreaterThan(layout.get("c")!);
});

test("places a new node next to its siblings, without moving any other", () => {
  const before = arrange(small);
  const after = place([...small, node("d", 1, "process"), node("new socket", 3, "a")], before);
  for (const { id } of small) expect(after.get(id)).toBe(before.get(id));
  expect(after.get("d")).toBe(3);
  expect(after.get("new socket")).toBe(0);
});

test("reuses the position of a closed node", () => {
  const without = small.filter(({ id }) => id !== "c");
  expect(place([...without, node("d", 1, "process")], arrange(small)).get("d")).toBe(2);
});

test("gives a node that appears again its old position, unless it is taken", () => {
  const before = arrange(small);
  const without = place(
    small.filter(({ id }) => id !== "a"),
    before,
  );
  expect(place([...small, node("e", 1, "process")], without, before).get("a")).toBe(0);
  const taken = new Map([...without, ["e", 0]]);
  expect(place([...small, node("e", 1, "process")], taken, before).get("a")).not.toBe(0);
});

test("places a new process below everything", () => {
  const before = arrange(small);
  expect(place([...small, node("other", 0)], before).get("other")).toBeGreaterThan(before.get("c")!);
});

/** Trees of a process with nodes on both sides, each after its parent. */
const arbitraryNodes = fc
  .array(fc.tuple(fc.nat(), fc.boolean(), fc.integer({ min: 1, max: 2 })), { maxLength: 60 })
  .map((choices) => {
    const nodes: LayoutNode[] = [node("0", 0)];
    for (const [parentChoice, isLeft, step] of choices) {
      const parent = nodes[parentChoice % nodes.length]!;
      const direction = parent.column < 0 || (parent.column === 0 && isLeft) ? -1 : 1;
      nodes.push(node(String(nodes.length), parent.column + direction * step, parent.id));
    }
    return nodes;
  });

test("keeps all nodes of a column at least one row apart, also after nodes appear and close", () => {
  fc.assert(
    fc.property(arbitraryNodes, fc.array(fc.boolean(), { minLength: 60, maxLength: 60 }), (nodes, choices) => {
      const first = nodes.filter((_, index) => index === 0 || choices[index % 60]);
      const known = new Set(first.map(({ id }) => id));
      // A node whose parent is missing hangs below the process, as in the graph.
      const rooted = first.map((each) =>
        each.parent === undefined || known.has(each.parent) ? each : { ...each, parent: "0" },
      );
      const before = arrange(rooted);
      const after = place(nodes, before);
      for (const [layout, shown] of [
        [before, rooted],
        [after, nodes],
      ] as const) {
        for (const column of new Set(shown.map((each) => each.column))) {
          const rows = shown
            .filter((each) => each.column === column)
            .map(({ id }) => layout.get(id)!)
            .sort((a, b) => a - b);
          for (const [index, row] of rows.entries()) {
            if (index > 0) expect(row - rows[index - 1]!).toBeGreaterThan(0.999);
          }
        }
      }
      for (const { id } of rooted) expect(after.get(id)).toBe(before.get(id));
    }),
  );
});
