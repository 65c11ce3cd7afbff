import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  type Cause,
  type CauseCode,
  causeTable,
  type Explanation,
  type Note,
  type Requirement,
  type Step,
  type StepName,
} from "@wirescope/tool-server/why";
import {
  type Cause as CauseMessage,
  type CauseSchema,
  type Check,
  CheckSchema,
  type Explanation as ExplanationMessage,
  ExplanationSchema,
  Transport,
} from "../../gen/wirescope/v1/admin_pb.js";
import { checkOutcomes, nameOf, transports } from "./enums.js";

export function explanationToMessage(explanation: Explanation): ExplanationMessage {
  const { server, type, isWell, causes, notes, steps, requirements, permissions = [] } = explanation;
  return create(ExplanationSchema, {
    server,
    transport: type === undefined ? Transport.UNSPECIFIED : transports[type],
    well: isWell,
    causes: causes.map(causeInit),
    notes: notes.map((note) => causeInit({ ...note, weight: 0 })),
    steps: steps.map(stepToMessage),
    requirements: requirements.map((requirement) => checkInit(requirement.requirement, requirement)),
    permissions: [...permissions],
  });
}

export function stepToMessage(step: Step): Check {
  return create(CheckSchema, checkInit(step.step, step));
}

export function explanationFromMessage(message: ExplanationMessage): Explanation {
  const { server, transport, well, causes, notes, steps, requirements, permissions } = message;
  return {
    server,
    type: nameOf(transports, transport),
    isWell: well,
    causes: causes.map((cause) => ({ ...noteFromMessage(cause), weight: cause.weight })),
    notes: notes.map(noteFromMessage),
    steps: steps.map((check) => ({ step: check.name as StepName, ...checkFromMessage(check) })),
    requirements: requirements.map((check) => ({ requirement: check.name, ...checkFromMessage(check) })),
    permissions: permissions.length === 0 ? undefined : permissions,
  };
}

function noteFromMessage({ code, problem, evidence, fix }: CauseMessage): Note {
  return {
    code: code as CauseCode,
    problem,
    evidence,
    fix: {
      advice: fix?.advice ?? "",
      command: fix?.command || undefined,
      position: fix?.file ? { file: fix.file, line: fix.line, column: fix.column } : undefined,
      write: fix?.write || undefined,
    },
  };
}

function checkFromMessage({ outcome, evidence }: Check): Pick<Step, "outcome" | "evidence"> {
  return { outcome: nameOf(checkOutcomes, outcome) ?? "skipped", evidence };
}

function causeInit({ code, weight, problem, evidence, fix }: Cause): MessageInitShape<typeof CauseSchema> {
  const { advice, command = "", position, write = "" } = fix;
  return {
    code,
    title: causeTable[code],
    weight,
    problem,
    evidence: [...evidence],
    fix: { advice, command, write, ...position },
  };
}

function checkInit(name: string, { outcome, evidence }: Step | Requirement): MessageInitShape<typeof CheckSchema> {
  return { name, outcome: checkOutcomes[outcome], evidence: [...evidence] };
}
