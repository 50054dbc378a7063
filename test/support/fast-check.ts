// The tests of a package lie beside it, where the packages of test/ are not found.
export { default } from 'fast-check'
