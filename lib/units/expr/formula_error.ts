/** Why a formula has no program or no value. Thrown inside of lib/units/expr only: compileExpr() and Program.run() turn it into a message. */
export class FormulaError extends Error {}
