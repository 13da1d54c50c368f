/*
 Navicat Premium Data Transfer
 Source Schema         : links
*/

SET NAMES utf8mb4;
SET FOREIGN_KEY_CHECKS = 0;

-- ----------------------------
-- Table structure for yourls_url
-- ----------------------------
DROP TABLE IF EXISTS `yourls_url`;
CREATE TABLE `yourls_url`  (
  `keyword` varchar(200) CHARACTER SET latin1 COLLATE latin1_bin NOT NULL,
  `url` text CHARACTER SET latin1 COLLATE latin1_bin NOT NULL,
  `title` text CHARACTER SET utf8 COLLATE utf8_general_ci NULL,
  `timestamp` timestamp(0) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  `clicks` int(10) UNSIGNED NOT NULL,
  PRIMARY KEY (`keyword`) USING BTREE
) ENGINE = MyISAM CHARACTER SET = latin1 COLLATE = latin1_swedish_ci;

INSERT INTO `yourls_url` VALUES ('old', 0x68747470733A2F2F6F6C642E6578616D706C652F78, 'Old', '2015-06-07 08:09:10', '12');
INSERT INTO `yourls_url` VALUES ('cut', 'https://old.example/y', 'never
ends