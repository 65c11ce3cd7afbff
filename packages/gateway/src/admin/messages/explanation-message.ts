import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  type Cause,
  type CauseCode,
  causeTable,
  type Demand,
  type Explanation,
  type Note,
  type Step,
  type StepName,
} from "@wirescope/tool-server/why";
import {
  type Cause as CauseMessage,
  type CauseSchema,
  type Check,
  type CheckSchema,
  type ExplainResponse,
  ExplainResponseSchema,
  Transport,
} from "../../gen/wirescope/v1/admin_pb.js";
import { checkOutcomes, nameOf, transports } from "./enums.js";

/** An explanation as a message. */
export function explanationToMessage(explanation: Explanation): ExplainResponse {
  const { server, type, isWell, causes, notes, steps, demands, permissions = [] } = explanation;
  return create(ExplainResponseSchema, {
    server,
    transport: type === undefined ? Transport.UNSPECIFIED : transports[type],
    well: isWell,
    causes: causes.map(causeInit),
    notes: notes.map((note) => causeInit({ ...note, weight: 0 })),
    steps: steps.map((step) => checkInit(step.step, step)),
    demands: demands.map((demand) => checkInit(demand.demand, demand)),
    permissions: [...permissions],
  });
}

/** The explanation that a message holds. */
export function explanationFromMessage(message: ExplainResponse): Explanation {
  const { server, transport, well, causes, notes, steps, demands, permissions } = message;
  return {
    server,
    type: nameOf(transports, transport),
    isWell: well,
    causes: causes.map((cause) => ({ ...noteFromMessage(cause), weight: cause.weight })),
    notes: notes.map(noteFromMessage),
    steps: steps.map((check) => ({ step: check.name as StepName, ...checkFromMessage(check) })),
    demands: demands.map((check) => ({ demand: check.name, ...checkFromMessage(check) })),
    permissions: permissions.length === 0 ? undefined : permissions,
  };
}

function noteFromMessage({ code, message, evidence, mend }: CauseMessage): Note {
  return {
    cause: code as CauseCode,
    message,
    evidence,
    mend: {
      what: mend?.what ?? "",
      command: mend?.command || undefined,
      place: mend?.file ? { file: mend.file, line: mend.line, column: mend.column } : undefined,
      write: mend?.write || undefined,
    },
  };
}

function checkFromMessage({ outcome, evidence }: Check): Pick<Step, "outcome" | "evidence"> {
  return { outcome: nameOf(checkOutcomes, outcome) ?? "skipped", evidence };
}

function causeInit({ cause, weight, message, evidence, mend }: Cause): MessageInitShape<typeof CauseSchema> {
  const { what, command = "", place, write = "" } = mend;
  return {
    code: cause,
    title: causeTable[cause],
    weight,
    message,
    evidence: [...evidence],
    mend: { what, command, write, ...(place && { file: place.file, line: place.line, column: place.column }) },
  };
}

function checkInit(name: string, { outcome, evidence }: Step | Demand): MessageInitShape<typeof CheckSchema> {
  return { name, outcome: checkOutcomes[outcome], evidence: [...evidence] };
}
