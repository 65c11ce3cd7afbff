import type { Draft, FormProblem } from "./draft.js";
import type { FormNode } from "./form-node.js";

/** A part of a form with its draft. */
export interface NodeProps<Node extends FormNode = FormNode> {
  readonly node: Node;
  readonly draft: Draft;
  readonly label: string;
  readonly isRequired: boolean;
  /** The JSON pointer of its value. */
  readonly pointer: string;
  readonly problems: readonly FormProblem[];
  readonly onChange: (draft: Draft) => void;
}
