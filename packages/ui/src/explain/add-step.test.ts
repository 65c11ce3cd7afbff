import { create } from "@bufbuild/protobuf";
import { Check_Outcome, CheckSchema } from "@wirescope/gateway/admin";
import { expect, test } from "vitest";
import { addStep } from "./add-step.js";

test("replaces a step in its place when more is known about it", () => {
  const step = (name: string, outcome: Check_Outcome): ReturnType<typeof create<typeof CheckSchema>> =>
    create(CheckSchema, { name, outcome });
  const known = [step("name", Check_Outcome.OK), step("http", Check_Outcome.OK)];
  const next = addStep(addStep(known, step("name", Check_Outcome.FAILED)), step("protocol", Check_Outcome.OK));
  expect(next.map(({ name, outcome }) => [name, outcome])).toEqual([
    ["name", Check_Outcome.FAILED],
    ["http", Check_Outcome.OK],
    ["protocol", Check_Outcome.OK],
  ]);
});
