/** Common members of all parts of a form. */
interface CommonNode {
  readonly title?: string;
  readonly description?: string;
  /** Whether null is allowed. */
  readonly isNullable?: boolean;
  readonly default?: unknown;
}

/** A part of a form, made from a part of a JSON Schema. */
export type FormNode = CommonNode &
  (
    | {
        readonly kind: "text";
        readonly format?: string;
        readonly minLength?: number;
        readonly maxLength?: number;
        /** Values to suggest, if there are too many to choose from. */
        readonly suggestions?: readonly string[];
      }
    | {
        readonly kind: "number";
        readonly isInteger: boolean;
        readonly min?: number;
        readonly max?: number;
        /** Exclusive limits. */
        readonly above?: number;
        readonly below?: number;
      }
    | { readonly kind: "boolean" }
    | { readonly kind: "constant"; readonly value: unknown }
    | { readonly kind: "choice"; readonly options: readonly FormOption[] }
    /** Any number of the options. */
    | { readonly kind: "choices"; readonly options: readonly FormOption[] }
    | { readonly kind: "list"; readonly item: FormNode; readonly minItems: number; readonly maxItems: number }
    | { readonly kind: "group"; readonly fields: readonly FormField[] }
    /** One of several forms. */
    | { readonly kind: "variants"; readonly variants: readonly FormNode[] }
    /** Everything without its own kind of field: it is edited as JSON. */
    | { readonly kind: "json" }
  );

export interface FormOption {
  readonly label: string;
  readonly value: unknown;
}

export interface FormField {
  readonly name: string;
  readonly isRequired: boolean;
  readonly node: FormNode;
}

export type NodeOf<Kind extends FormNode["kind"]> = Extract<FormNode, { readonly kind: Kind }>;
